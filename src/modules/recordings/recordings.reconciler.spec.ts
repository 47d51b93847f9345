import type { Env } from '../../platform/config/env.js';
import type { DatabaseService } from '../../platform/database/database.service.js';
import type { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import type { Spool } from '../../platform/storage/spool.js';
import type { RecordingLeasesService } from './leases/recording-leases.service.js';
import type { RecordingsService } from './recordings.service.js';
import { RecordingsReconciler } from './recordings.reconciler.js';

describe('RecordingsReconciler', () => {
  let tasks: Map<string, { run: () => Promise<void>; everyProcess: boolean }>;
  let swept: number[];
  /** Rows that each statement changes. */
  let changes: number[];

  beforeEach(() => {
    tasks = new Map();
    swept = [];
    changes = [];
    const reconciler = {
      register: (name: string, run: () => Promise<void>, options = { everyProcess: false }) =>
        void tasks.set(name, { run, ...options }),
    };
    const database = { query: async () => Array.from({ length: changes.shift() ?? 0 }, () => ({})) };
    new RecordingsReconciler(
      database as unknown as DatabaseService,
      { sweep: async (seconds: number) => void swept.push(seconds) } as unknown as Spool,
      { uploadTimeoutSeconds: 300, maxAudioSeconds: 7200 } as Env,
      {} as RecordingLeasesService,
      {} as RecordingsService,
      reconciler as unknown as ReconcilerService,
    ).onModuleInit();
  });

  it('sweeps in every process what is older than any upload and transcription', async () => {
    expect(tasks.get('sweep the spool')).toMatchObject({ everyProcess: true });
    await tasks.get('sweep the spool')?.run();
    expect(swept).toEqual([15_000]);
  });

  it('deletes expired idempotency keys in batches until none is left', async () => {
    changes = [1000, 1000, 999, 5];
    await tasks.get('delete expired idempotency keys')?.run();
    expect(changes).toEqual([5]);
  });
});
