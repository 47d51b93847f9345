import type { Quotas } from '../../../access/plans.js';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import {
  ConcurrentUploadsError,
  QuotaExceededError,
  ServiceUnavailableError,
} from '../../../platform/errors/errors.js';
import type { DiskSpaceService } from '../../../platform/storage/disk-space.service.js';
import type { QuotasService } from '../quotas.service.js';
import { type AnnouncedUpload, UploadAdmissionService } from './upload-admission.service.js';

const FULL = new QuotaExceededError('stored_bytes', 1, 1, null);
const QUOTAS = { concurrentUploads: 2 } as Quotas;
const UPLOAD: AnnouncedUpload = {
  accountId: 'a',
  quotas: QUOTAS,
  userId: null,
  idempotencyKey: null,
  mayRepeat: false,
  minBytes: 100,
};

describe('UploadAdmissionService (D32)', () => {
  let hasRoom: boolean;
  let refusal: QuotaExceededError | null;
  let earlier: object[];
  let takeSlot: () => Promise<() => void>;
  let steps: unknown[][];
  let service: UploadAdmissionService;

  beforeEach(() => {
    [hasRoom, refusal, earlier, steps] = [true, null, [], []];
    const step =
      <T>(name: string, answer: () => T) =>
      (...given: unknown[]): T => {
        steps.push([name, ...given]);
        return answer();
      };
    takeSlot = async () => step('free', () => undefined);
    service = new UploadAdmissionService(
      {
        query: async (_: string, given: unknown[]) => step('key', () => earlier)(...given),
      } as unknown as DatabaseService,
      {
        takeUploadSlot: step('slot', async () => takeSlot()),
        countRefusal: step('count', () => undefined),
        findRefusal: step('quotas', async () => refusal),
        refuse: step('refuse', () => {
          throw FULL;
        }),
      } as unknown as QuotasService,
      { hasRoom: async () => hasRoom } as unknown as DiskSpaceService,
    );
  });

  it('takes a slot, asks the quotas, and gives the slot to be freed by the caller', async () => {
    const free = await service.admit(UPLOAD);
    expect(steps).toEqual([
      ['slot', 'a', 2],
      ['quotas', 'a', QUOTAS, 100],
    ]);
    free();
    expect(steps.at(-1)).toEqual(['free']);
  });

  it('refuses with a full disk, before a slot is taken, to come again in 30 s', async () => {
    hasRoom = false;
    const error: unknown = await service.admit(UPLOAD).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceUnavailableError);
    expect((error as ServiceUnavailableError).retryAfter).toBe(30);
    expect(steps).toEqual([['count', 'free_disk']]);
  });

  it('frees the slot of an upload that a quota refuses', async () => {
    refusal = FULL;
    await expect(service.admit(UPLOAD)).rejects.toBe(FULL);
    expect(steps.map(([name]) => name)).toEqual(['slot', 'quotas', 'refuse', 'free']);
    expect(steps[2]).toEqual(['refuse', FULL]);
  });

  it('passes on that all slots are taken', async () => {
    const full = new ConcurrentUploadsError(2, 2);
    takeSlot = () => Promise.reject(full);
    await expect(service.admit(UPLOAD)).rejects.toBe(full);
    expect(steps.map(([name]) => name)).toEqual(['slot']);
  });

  it.each([
    [null, ''],
    ['user', 'user'],
  ])('admits a repeat of %s although a quota is full: its key is known for a day', async (userId, identity) => {
    refusal = FULL;
    earlier = [{ fingerprint: '', recordingId: '' }];
    await service.admit({ ...UPLOAD, userId, idempotencyKey: 'k' });
    expect(steps.at(-1)).toEqual(['key', 'a', identity, 'k', 86_400]);
  });

  it('refuses a key that is not known', async () => {
    refusal = FULL;
    await expect(service.admit({ ...UPLOAD, idempotencyKey: 'k', mayRepeat: true })).rejects.toBe(FULL);
  });

  it('does not look for the key of an upload that fits', async () => {
    await service.admit({ ...UPLOAD, idempotencyKey: 'k' });
    expect(steps.map(([name]) => name)).toEqual(['slot', 'quotas']);
  });

  it('leaves it to the end where only the body tells whether it is a repeat', async () => {
    refusal = FULL;
    await service.admit({ ...UPLOAD, mayRepeat: true });
    expect(steps.map(([name]) => name)).toEqual(['slot']);
  });
});
