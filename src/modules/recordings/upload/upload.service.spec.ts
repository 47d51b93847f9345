import { createHash } from 'node:crypto';
import type { Repository } from 'typeorm';
import { silenceWav } from '../../../../test/support/audio/audio-bytes.js';
import { inMemory } from '../../../../test/support/audio/audio-bytes.js';
import type { Quotas } from '../../../access/quotas.js';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import type { EventBus } from '../../../platform/events/event-bus.js';
import { QuotaExceededError } from '../../../platform/errors/errors.js';
import type { ObjectStore } from '../../../platform/storage/object-store.js';
import type { ObjectRemovalsService } from '../../../platform/storage/removals/object-removals.service.js';
import { StorageUnavailableError } from '../../../platform/storage/storage-errors.js';
import type { QuotasService } from '../quotas/quotas.service.js';
import type { Recording } from '../recording.entity.js';
import type { UploadForm } from './upload-form.js';
import { UploadService } from './upload.service.js';

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

const FIRST = { id: 'the first recording' };
/** Of an upload without contents, language or tags. */
const FINGERPRINT = createHash('sha256')
  .update(JSON.stringify([null, null, null]))
  .digest('hex');
const FULL = new QuotaExceededError('stored_bytes', 1, 1, null);

describe('UploadService', () => {
  /** What was done, in order. */
  let steps: string[];
  let reservation: { commit: () => void; fail: (error: Error) => void };
  let written: () => Promise<void>;
  let inserted: object[];
  let nearLimit: () => Promise<boolean>;
  /** What is found of the Idempotency-Key, look by look. */
  let keys: object[][];
  let service: UploadService;

  beforeEach(() => {
    steps = [];
    written = () => Promise.resolve();
    inserted = [{ object_key: 'taken off the list' }];
    nearLimit = async () => false;
    keys = [];
    const reserved = new Promise<void>((resolve, reject) => {
      reservation = {
        commit: () => {
          steps.push('reserved');
          resolve();
        },
        fail: reject,
      };
    });
    const store = {
      bucket: 'voice-notes',
      // As a store is told to: nothing is moved before the key is reserved.
      async put(_key: string, _file: unknown, after?: Promise<void>) {
        await after;
        steps.push('stored');
        await written();
      },
    };
    const removals = {
      reserve: () => reserved,
      cancel: async (_key: string, { mayArriveLate }: { mayArriveLate: boolean }) =>
        void steps.push(mayArriveLate ? 'removed for now' : 'removed'),
    };
    const tx = { query: async () => inserted, prepared: async () => inserted };
    const database = {
      query: async () => keys.shift() ?? [],
      async transact(work: (transaction: unknown) => Promise<void>) {
        steps.push('transaction');
        await work(tx);
      },
    };
    const bus = { emit: async () => void steps.push('announced'), writesFor: () => [] };
    service = new UploadService(
      database as unknown as DatabaseService,
      { findOneBy: async () => FIRST } as unknown as Repository<Recording>,
      removals as unknown as ObjectRemovalsService,
      store as unknown as ObjectStore,
      bus as unknown as EventBus,
      { isNearLimit: () => nearLimit() } as unknown as QuotasService,
    );
  });

  async function accept(idempotencyKey: string | null = null) {
    const bytes = silenceWav(0.1);
    const file = { handle: inMemory(bytes), sizeBytes: bytes.length };
    const form = { file, originalFilename: 'note.wav', sha256: null } as unknown as UploadForm;
    const context = {
      userId: null,
      keyId: null,
      quotas: {} as Quotas,
      acceptedFormats: ['wav'] as const,
      clientIp: null,
      userAgent: null,
      source: 'api' as const,
      idempotencyKey,
      repeats: null,
    };
    return await service.accept('01900000-0000-7000-8000-000000000001', form, {}, context);
  }

  it('reserves the key, then stores the audio, then inserts the recording: no crash leaves an orphan', async () => {
    const accepting = accept();
    await turns();
    expect(steps).toEqual([]);
    reservation.commit();
    await accepting;
    expect(steps).toEqual(['reserved', 'stored', 'transaction', 'announced']);
  });

  it('stores nothing when the key cannot be reserved', async () => {
    const accepting = accept();
    reservation.fail(new Error('no database'));
    await expect(accepting).rejects.toThrow('no database');
    expect(steps).toEqual([]);
  });

  it.each([false, true])('removes what was not stored whole; it may arrive late: %s', async (mayArriveLate) => {
    written = () => Promise.reject(new StorageUnavailableError('no disk', { mayArriveLate }));
    reservation.commit();
    await expect(accept()).rejects.toThrow(StorageUnavailableError);
    await turns();
    expect(steps).toEqual(['reserved', 'stored', mayArriveLate ? 'removed for now' : 'removed']);
  });

  it('answers a repeat although the first one has filled the quota meanwhile, and no other upload', async () => {
    nearLimit = () => Promise.reject(FULL);
    reservation.commit();
    keys = [[], [{ fingerprint: FINGERPRINT, recordingId: FIRST.id }]];
    await expect(accept('one')).resolves.toEqual({ recording: FIRST, replayed: true });
    await expect(accept('two')).rejects.toBe(FULL);
    await expect(accept()).rejects.toBe(FULL);
  });

  it('keeps nothing when the reservation has expired meanwhile', async () => {
    inserted = [];
    reservation.commit();
    await expect(accept()).rejects.toThrow(/the reservation of .* expired/);
    await turns();
    expect(steps).toEqual(['reserved', 'stored', 'transaction', 'removed']);
  });
});
