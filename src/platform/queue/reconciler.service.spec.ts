import { Logger } from '@nestjs/common';
import type { Env } from '../config/env.js';
import type { DatabaseService } from '../database/database.service.js';
import { ReconcilerService } from './reconciler.service.js';

const RECONCILE_SECONDS = 5;

describe('ReconcilerService', () => {
  let ran: string[];
  /** Whether this process gets the lock. */
  let held: boolean;
  let ended: string[];
  let reconciler: ReconcilerService;

  beforeAll(() => Logger.overrideLogger(false));

  function reconcilerOf(roles: string[]): ReconcilerService {
    const runner = {
      startTransaction: async () => undefined,
      query: async (sql: string) => (sql.includes('lock') ? [{ held }] : []),
      commitTransaction: async () => void ended.push('commit'),
      rollbackTransaction: async () => void ended.push('rollback'),
      release: async () => void ended.push('release'),
    };
    const database = { dataSource: { createQueryRunner: () => runner } };
    const env = { roles, reconcileSeconds: RECONCILE_SECONDS } as unknown as Env;
    const made = new ReconcilerService(env, database as unknown as DatabaseService);
    const task = (name: string, fails: boolean) => async () => {
      ran.push(name);
      if (fails) throw new Error(name);
    };
    made.register('local', task('local', true), { everyProcess: true });
    made.register('local, too', task('local, too', false), { everyProcess: true });
    made.register('first', task('first', true));
    made.register('second', task('second', false));
    return made;
  }

  beforeEach(() => {
    jest.useFakeTimers();
    ran = [];
    held = true;
    ended = [];
    reconciler = reconcilerOf(['transcriber']);
  });

  afterEach(async () => {
    await reconciler.onApplicationShutdown();
    jest.useRealTimers();
  });

  const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);

  it('runs every task in each round, also behind one that failed', async () => {
    reconciler.onApplicationBootstrap();
    await pass(0);
    const round = ['local', 'local, too', 'first', 'second'];
    expect(ran).toEqual(round);
    expect(ended).toEqual(['commit', 'release']);
    await pass(RECONCILE_SECONDS);
    expect(ran).toEqual([...round, ...round]);
  });

  it('leaves the tasks of all processes to the one that holds the lock', async () => {
    held = false;
    reconciler.onApplicationBootstrap();
    await pass(0);
    expect(ran).toEqual(['local', 'local, too']);
    expect(ended).toEqual(['commit', 'release']);
  });

  it('runs only local tasks in a process that serves the API alone', async () => {
    reconciler = reconcilerOf(['api']);
    reconciler.onApplicationBootstrap();
    await pass(0);
    expect(ran).toEqual(['local', 'local, too']);
  });

  it('runs every task in a process that serves the API and has another role', async () => {
    reconciler = reconcilerOf(['api', 'transcriber']);
    reconciler.onApplicationBootstrap();
    await pass(0);
    expect(ran).toEqual(['local', 'local, too', 'first', 'second']);
  });

  it('begins no round after the stop', async () => {
    reconciler.onApplicationBootstrap();
    await pass(0);
    await reconciler.onApplicationShutdown();
    ran = [];
    await pass(10 * RECONCILE_SECONDS);
    expect(ran).toEqual([]);
  });
});
