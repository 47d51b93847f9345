import { hash } from 'node:crypto';
import type { Repository } from 'typeorm';
import { inMemory, silenceWav } from '../../../../test/support/audio/audio-bytes.js';
import type { Quotas } from '../../../access/plans.js';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import type { EventBus } from '../../../platform/database/event-bus.js';
import { AccountSuspendedError, QuotaExceededError } from '../../../platform/errors/errors.js';
import type { ObjectStore } from '../../../platform/storage/object-store.js';
import type { ObjectRemovalsService } from '../../../platform/storage/object-removals.service.js';
import { StorageUnavailableError } from '../../../platform/storage/file-system.js';
import type { QuotasService } from '../quotas.service.js';
import type { Recording } from '../recording.entity.js';
import type { UploadDetails } from './upload-fields.js';
import type { UploadForm } from './upload-form.js';
import { type UploadContext, UploadService } from './upload.service.js';

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

const FIRST = { id: 'the first recording' };
const ACCOUNT = '01900000-0000-7000-8000-000000000001';
const fingerprintOf = (contents: unknown[]): string => hash('sha256', JSON.stringify(contents), 'hex');
/** Of an upload without contents, language or tags. */
const FINGERPRINT = fingerprintOf([null, null, null]);
const FULL = new QuotaExceededError('stored_bytes', 1, 1, null);

describe('UploadService', () => {
  /** What was done, in order. */
  let steps: string[];
  let reservation: { commit: () => void; fail: (error: Error) => void };
  let written: () => Promise<void>;
  let inserted: object[];
  /** What claiming a key returns. */
  let claimed: object[];
  let underWay: number;
  /** What is found of the Idempotency-Key, look by look. */
  let keys: object[][];
  /** What was asked of the table of keys, outside transactions and in them. */
  let asked: unknown[][];
  let inTx: unknown[][];
  let quotaCalls: unknown[][];
  /** The recording of a known key, and the look-ups of it. */
  let first: typeof FIRST | null;
  let found: object[];
  let service: UploadService;

  beforeEach(() => {
    steps = [];
    written = () => Promise.resolve();
    inserted = [{ object_key: 'taken off the list' }];
    underWay = 0;
    [keys, claimed, asked, inTx, quotaCalls, first, found] = [[], [{}], [], [], [], FIRST, []];
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
      keyFor: async (key: string) => key,
      // As a store is told to: nothing is moved before the key is reserved.
      async put(_key: string, _file: unknown, after?: Promise<void>) {
        await after;
        steps.push('stored');
        await written();
      },
    };
    const removals = {
      cancel: async (_key: string, { mayArriveLate }: { mayArriveLate: boolean }) =>
        void steps.push(mayArriveLate ? 'removed for now' : 'removed'),
    };
    const tx = {
      query: async (_: string, given: unknown[]) => {
        await turns();
        inTx.push(given);
        return claimed;
      },
      prepared: async () => inserted,
    };
    const database = {
      query: async (_: string, given: unknown[]) => {
        asked.push(given);
        return keys.shift() ?? [];
      },
      async transact(work: (transaction: unknown) => Promise<void>) {
        steps.push('transaction');
        await work(tx);
        steps.push('committed');
      },
    };
    const bus = { emit: () => turns().then(() => void steps.push('announced')), writesFor: () => [] };
    service = new UploadService(
      database as unknown as DatabaseService,
      {
        findOneBy: async (where: object) => {
          found.push(where);
          return first;
        },
      } as unknown as Repository<Recording>,
      removals as unknown as ObjectRemovalsService,
      store as unknown as ObjectStore,
      bus as unknown as EventBus,
      {
        reserve: (...given: unknown[]) => {
          quotaCalls.push(given);
          return reserved;
        },
        hasReservations: async () => underWay-- > 0,
      } as unknown as QuotasService,
    );
  });

  afterEach(() => jest.useRealTimers());

  async function accept(
    idempotencyKey: string | null = null,
    details: UploadDetails = {},
    sender: Partial<UploadContext> = {},
  ) {
    const bytes = silenceWav(0.1);
    const file = { handle: inMemory(bytes), sizeBytes: bytes.length };
    const form = { file, originalFilename: 'note.wav', sha256: null } as unknown as UploadForm;
    const context = {
      userId: null,
      keyId: null,
      quotas: {} as Quotas,
      isTest: false,
      acceptedFormats: ['wav'] as const,
      clientIp: null,
      userAgent: null,
      source: 'api' as const,
      idempotencyKey,
      repeats: null,
      ...sender,
    };
    return await service.accept(ACCOUNT, form, details, context);
  }

  it('reserves the key, then stores the audio, then inserts the recording: no crash leaves an orphan', async () => {
    const accepting = accept();
    await turns();
    expect(steps).toEqual([]);
    reservation.commit();
    await accepting;
    expect(steps).toEqual(['reserved', 'stored', 'transaction', 'announced', 'committed']);
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
    reservation.fail(FULL);
    const known = [{ fingerprint: FINGERPRINT, recordingId: FIRST.id }];
    keys = [[], known];
    await expect(accept('one')).resolves.toEqual({ recording: FIRST, replayed: true });
    // The first one is not stored yet.
    [keys, underWay] = [[[], [], known], 1];
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

  it('describes the recording by its file, its sender and the time', async () => {
    reservation.commit();
    jest.useFakeTimers({ now: new Date('2026-01-31T23:59:59.999Z'), doNotFake: ['nextTick', 'setImmediate'] });
    const tags = { custom_tags: '{"a": "b"}' };
    const details = { ...tags, language: 'German', vocabulary: 'x,y', channels: 'separate', speakers: '2' };
    const sender = { userId: 'u', keyId: 'k', clientIp: '10.0.0.1', userAgent: 'phone', source: 'console' as const };
    const { recording, replayed } = await accept(null, details, sender);
    expect(replayed).toBe(false);
    expect(recording).toMatchObject({
      accountId: ACCOUNT,
      userId: 'u',
      keyId: 'k',
      originalFilename: 'note.wav',
      objectKey: `${ACCOUNT}/2026/01/${recording.id}.wav`,
      bucket: 'voice-notes',
      durationMs: 100,
      fileSizeBytes: silenceWav(0.1).length,
      audioFormat: 'wav',
      channels: 1,
      sampleRate: expect.any(Number),
      bitRate: expect.any(Number),
      audioCodec: expect.any(String),
      clientIp: '10.0.0.1',
      userAgent: 'phone',
      uploadSource: 'console',
      customTags: '{"a":"b"}',
      language: 'german',
      vocabulary: ['x', 'y'],
      separateChannels: true,
      speakers: 2,
      speakerNames: null,
      status: 'processing',
      run: 1,
      attempt: 0,
      faults: 0,
      createdAt: new Date(),
      updatedAt: new Date(),
      processedAt: null,
    });
  });

  it('reserves room in the quotas for its bytes and its audio', async () => {
    reservation.commit();
    const { recording } = await accept();
    const { objectKey } = recording;
    const demand = { objectKey, accountId: ACCOUNT, bytes: silenceWav(0.1).length, durationMs: 100 };
    expect(quotaCalls).toEqual([[demand, {}]]);
  });

  it('says that the account is suspended when it was removed meanwhile', async () => {
    reservation.commit();
    written = () => Promise.reject(Object.assign(new Error('gone'), { constraint: 'recordings_account_fkey' }));
    await expect(accept()).rejects.toThrow(AccountSuspendedError);
    written = () => Promise.reject(Object.assign(new Error('other'), { constraint: 'recordings_pkey' }));
    await expect(accept()).rejects.toThrow('other');
  });

  describe('an upload whose key is known', () => {
    const known = (fingerprint: string) => [{ fingerprint, recordingId: FIRST.id }];

    it('is answered with its recording, to the same end user, and nothing is stored', async () => {
      keys = [known(FINGERPRINT), known(FINGERPRINT)];
      expect(await accept('one')).toEqual({ recording: FIRST, replayed: true });
      expect(steps).toEqual([]);
      expect(found).toEqual([{ id: FIRST.id, accountId: ACCOUNT }]);
      await accept('one', {}, { userId: 'u' });
      expect(asked).toEqual(['', 'u'].map((identity) => [ACCOUNT, identity, 'one', 86_400]));
    });

    it('meanwhile is 409 while the other is not committed, and nothing is kept', async () => {
      claimed = [];
      reservation.commit();
      await expect(accept('one')).rejects.toThrow('in use by another upload');
      await turns();
      expect(steps).toEqual(['reserved', 'stored', 'transaction', 'removed']);
    });

    it('is 409 with other contents, and when its recording was deleted', async () => {
      keys = [known('other'), known(FINGERPRINT)];
      await expect(accept('one')).rejects.toThrow('used for an upload with other contents');
      first = null;
      await expect(accept('one')).rejects.toThrow('has been deleted');
      expect(steps).toEqual([]);
    });

    it('is new again by its contents when its recording was deleted', async () => {
      const fingerprint = fingerprintOf([null, null, null, 'text']);
      keys = [known(fingerprint)];
      first = null;
      reservation.commit();
      expect(await accept(null, {}, { repeats: { seconds: 60, sameText: 'text' } })).toMatchObject({ replayed: false });
      expect(asked).toEqual([
        [ACCOUNT, '', `§${fingerprint}`, 60],
        [ACCOUNT, '', `§${fingerprint}`, FIRST.id],
      ]);
      expect(inTx[0]?.slice(0, 4)).toEqual([ACCOUNT, '', `§${fingerprint}`, fingerprint]);
      expect(inTx[0]?.[5]).toBe(60);
    });
  });
});
