import type { Quotas } from '../../access/plans.js';
import type { DatabaseService } from '../../platform/database/database.service.js';
import { ConflictError, NotFoundError, QuotaExceededError } from '../../platform/errors/errors.js';
import type { EventBus } from '../../platform/database/event-bus.js';
import type { ObjectRemovalsService } from '../../platform/storage/object-removals.service.js';
import type { QuotasService } from './quotas.service.js';
import { RecordingAccepted, RecordingDeleted, RerunRequested } from './recordings.events.js';
import { RecordingInclusionsService } from './recording-inclusions.service.js';
import type { RecordingSearchService } from './search/recording-search.service.js';
import { RecordingsService } from './recordings.service.js';

const ID = '01900000-0000-7000-8000-000000000001';
const RECORDING = {
  id: ID,
  accountId: 'a',
  durationMs: 1500,
  objectKey: 'a/key',
  createdAt: new Date(),
  audioDeletedAt: null,
};
const QUOTAS: Quotas = { storedBytes: 1, audioSecondsPerMonth: 2, queuedAudioSeconds: 3, concurrentUploads: 4 };

describe('RecordingsService', () => {
  /** What was done, in order. */
  let steps: unknown[][];
  let exists: boolean;
  /** Statements that find their row. */
  let hits: RegExp;
  let refuses: boolean;
  let service: RecordingsService;

  beforeEach(() => {
    [steps, exists, hits, refuses] = [[], true, /./, false];
    const nameOf = (sql: string): string =>
      /status = 'processing', run = run \+ 1/.test(sql)
        ? 'reopen'
        : /rerun = 'requested'/.test(sql)
          ? 'rerun'
          : /DELETE FROM recordings/.test(sql)
            ? 'delete'
            : sql.includes('audit_entries')
              ? 'audit'
              : 'count';
    const send = async (sql: string, given: unknown[]): Promise<object[]> => {
      const name = nameOf(sql);
      await new Promise((resolve) => void setImmediate(resolve));
      const isQuiet = name === 'count' || name === 'audit';
      const found = !isQuiet && hits.test(name);
      steps.push(isQuiet ? [name] : [name, ...given.slice(0, 2), found]);
      return found ? [RECORDING] : [];
    };
    const tx = { query: send, prepared: send };
    const database = {
      prepared: async () => {
        steps.push(['get']);
        return exists ? [{ ...RECORDING, position: 1 }] : [];
      },
      async transact<T>(work: (transaction: unknown) => Promise<T>): Promise<T> {
        const result = await work(tx);
        steps.push(['commit']);
        return result;
      },
    };
    const later =
      (name: string) =>
      async (...given: unknown[]): Promise<void> => {
        await new Promise((resolve) => void setImmediate(resolve));
        if (name === 'quotas' && refuses) throw new QuotaExceededError('queued_audio_seconds', 1, 1, null);
        steps.push([name, ...given.filter((one) => one !== tx)]);
      };
    service = new RecordingsService(
      database as unknown as DatabaseService,
      { discard: later('discard') } as unknown as ObjectRemovalsService,
      { emit: later('emit') } as unknown as EventBus,
      { enforce: later('quotas') } as unknown as QuotasService,
      {} as RecordingSearchService,
      new RecordingInclusionsService(),
    );
  });

  /** Statements that count are one or two. */
  const names = () => steps.map(([name]) => name).filter((name, i, all) => name !== 'count' || all[i - 1] !== 'count');
  const stepOf = (name: string) => steps.find(([done]) => done === name)?.slice(1);

  it('a retry opens a new run, needs room in the queue alone, and tells of it before the commit', async () => {
    expect(await service.retry('a', ID, QUOTAS)).toBe(RECORDING);
    expect(names()).toEqual(['get', 'reopen', 'quotas', 'count', 'emit', 'audit', 'commit']);
    expect(stepOf('reopen')).toEqual(['a', ID, true]);
    const queueOnly = { ...QUOTAS, storedBytes: null, audioSecondsPerMonth: null };
    expect(stepOf('quotas')).toEqual(['a', queueOnly, { bytes: 0, monthMs: 1500, queuedMs: 1500 }]);
    expect(stepOf('emit')).toEqual([new RecordingAccepted(RECORDING as never)]);
  });

  it('a retry of what has not failed is 409, and needs no room', async () => {
    hits = /never/;
    await expect(service.retry('a', ID, QUOTAS)).rejects.toThrow(ConflictError);
    expect(names()).toEqual(['get', 'reopen', 'get']);
  });

  it('again is a rerun of what is transcribed, and needs room in the queue and in the month', async () => {
    expect(await service.transcribeAgain('a', ID, {}, QUOTAS)).toBe(RECORDING);
    expect(names()).toEqual(['get', 'rerun', 'quotas', 'count', 'emit', 'audit', 'commit']);
    expect(stepOf('emit')).toEqual([new RerunRequested(RECORDING as never)]);
    expect(stepOf('quotas')).toEqual([
      'a',
      { ...QUOTAS, storedBytes: null },
      { bytes: 0, monthMs: 1500, queuedMs: 1500 },
    ]);
  });

  it('again is a new run of what has failed, and 409 of what waits', async () => {
    hits = /reopen/;
    await service.transcribeAgain('a', ID, {}, QUOTAS);
    expect(names()).toEqual(['get', 'rerun', 'reopen', 'quotas', 'count', 'emit', 'audit', 'commit']);
    expect(stepOf('emit')).toEqual([new RecordingAccepted(RECORDING as never)]);
    hits = /never/;
    await expect(service.transcribeAgain('a', ID, {}, QUOTAS)).rejects.toThrow('being transcribed already');
  });

  it.each(['retry', 'transcribeAgain'] as const)(
    '%s is refused by a full queue, and counts and tells nothing',
    async (what) => {
      refuses = true;
      const change = what === 'retry' ? service.retry('a', ID, QUOTAS) : service.transcribeAgain('a', ID, {}, QUOTAS);
      await expect(change).rejects.toThrow(QuotaExceededError);
      expect(names()).not.toContain('count');
      expect(names()).not.toContain('emit');
      expect(names()).not.toContain('commit');
    },
  );

  it('a deletion takes the row, what is counted and the audio, and tells of it, in one transaction', async () => {
    await service.delete('a', ID);
    expect(names()).toEqual(['get', 'delete', 'count', 'discard', 'emit', 'audit', 'commit']);
    expect(stepOf('delete')).toEqual(['a', ID, true]);
    expect(stepOf('discard')).toEqual(['a/key']);
    expect(stepOf('emit')).toEqual([new RecordingDeleted(RECORDING as never)]);
  });

  it('a deletion of what another has deleted meanwhile is 404, and removes nothing', async () => {
    hits = /never/;
    await expect(service.delete('a', ID)).rejects.toThrow(NotFoundError);
    expect(names()).toEqual(['get', 'delete', 'commit', 'get']);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['get', () => service.get('a', ID)],
    ['retry', () => service.retry('a', ID, QUOTAS)],
    ['transcribe again', () => service.transcribeAgain('a', ID, {}, QUOTAS)],
    ['delete', () => service.delete('a', ID)],
  ])('to %s what the account has not is 404, and changes nothing', async (_, ask) => {
    exists = false;
    await expect(ask()).rejects.toThrow(NotFoundError);
    expect(steps).toEqual([['get']]);
  });

  it('looks up no text that is no id', async () => {
    await expect(service.get('a', 'no-id')).rejects.toThrow(NotFoundError);
    expect(steps).toEqual([]);
  });
});

describe('RecordingsService.get', () => {
  const idOf = (n: number): string => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;
  let batches: string[][];
  let service: RecordingsService;

  beforeEach(() => {
    batches = [];
    /** Has the recordings of the account `mine`, and gives them in the wrong order. */
    const prepared = async (_: string, [accounts, ids]: [string[], string[]]) => {
      batches.push(ids);
      const rows = ids.map((id, i) => ({ position: i + 1, id, accountId: accounts[i] }));
      return rows.filter(({ accountId }) => accountId === 'mine').toReversed();
    };
    const unused = undefined as never;
    service = new RecordingsService({ prepared } as unknown as DatabaseService, unused, unused, unused, unused, unused);
  });

  it('reads what is asked for together with one statement, and answers each in its place', async () => {
    const accounts = ['mine', 'theirs', 'mine'];
    const found = await Promise.allSettled(accounts.map((accountId, i) => service.get(accountId, idOf(i))));
    expect(found).toMatchObject([
      { value: { id: idOf(0) } },
      { reason: expect.any(NotFoundError) },
      { value: { id: idOf(2) } },
    ]);
    expect(batches).toEqual([[idOf(0), idOf(1), idOf(2)]]);
  });

  it('reads again each time: nothing is cached', async () => {
    await service.get('mine', idOf(0));
    await service.get('mine', idOf(0));
    expect(batches).toEqual([[idOf(0)], [idOf(0)]]);
  });

  it('reads at most 50 with one statement', async () => {
    await Promise.all(Array.from({ length: 60 }, (_, i) => service.get('mine', idOf(i))));
    expect(batches.map((batch) => batch.length)).toEqual([50, 10]);
  });
});
