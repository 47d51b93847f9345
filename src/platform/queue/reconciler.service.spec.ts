import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { Env } from '../config/env.js';
import type { DatabaseService } from '../database/database.service.js';
import type { RedisService } from '../redis/redis.service.js';
import { ReconcilerService, repeatWhileFull } from './reconciler.service.js';

const RECONCILE_SECONDS = 5;

describe('ReconcilerService', () => {
  let ran: string[];
  /** Whether this process gets the lock. */
  let held: boolean;
  /** As Redis does with SET, PX and NX. */
  let turns: Map<string, number>;
  let redisIsUsable: boolean;
  let ended: string[];
  let statements: [sql: string, parameters: unknown[]][];
  let failure: Error | null;
  let warn: jest.SpyInstance;
  let reconciler: ReconcilerService;

  beforeAll(() => Logger.overrideLogger(false));

  let registry: Registry;

  async function takeTurn(name: string, _value: string, _px: string, ms: number): Promise<'OK' | null> {
    if ((turns.get(name) ?? 0) > Date.now()) return null;
    turns.set(name, Date.now() + ms);
    return 'OK';
  }

  function reconcilerOf(roles: string[], reconcileSeconds = RECONCILE_SECONDS): ReconcilerService {
    const runner = {
      startTransaction: async () => undefined,
      query: async (sql: string, parameters: unknown[]) => {
        statements.push([sql, parameters]);
        return [{ held }];
      },
      commitTransaction: async () => {
        if (failure) throw failure;
        ended.push('commit');
      },
      rollbackTransaction: async () => void ended.push('rollback'),
      release: async () => void ended.push('release'),
    };
    const database = { dataSource: { createQueryRunner: () => runner } };
    const env = { roles, reconcileSeconds } as unknown as Env;
    registry = new Registry();
    const redis = {
      tryCommand: async (command: (client: object) => Promise<unknown>) =>
        redisIsUsable ? await command({ set: takeTurn }) : null,
    };
    const made = new ReconcilerService(
      env,
      database as unknown as DatabaseService,
      redis as unknown as RedisService,
      registry,
    );
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
    turns = new Map();
    redisIsUsable = true;
    ended = [];
    statements = [];
    failure = null;
    warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    reconciler = reconcilerOf(['deliverer']);
  });

  afterEach(async () => {
    await reconciler.onApplicationShutdown();
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);

  it('has one round in an interval, in whichever of many deliverers', async () => {
    const others = Array.from({ length: 9 }, () => reconcilerOf(['deliverer']));
    for (const one of [reconciler, ...others]) {
      one.onApplicationBootstrap();
      await pass(0.3);
    }
    const rounds = () => ran.filter((name) => name === 'second').length;
    expect(rounds()).toBe(1);
    await pass(10 * RECONCILE_SECONDS);
    expect(rounds()).toBeGreaterThanOrEqual(10);
    expect(rounds()).toBeLessThanOrEqual(13);
    redisIsUsable = false;
    ran = [];
    await pass(RECONCILE_SECONDS);
    expect(rounds()).toBe(10);
    await Promise.all(others.map((one) => one.onApplicationShutdown()));
  });

  it('has rounds of its own for deliverers with other tasks', async () => {
    const extended = reconcilerOf(['deliverer']);
    extended.register('of an extension', async () => void ran.push('of an extension'));
    for (const one of [reconciler, extended]) one.onApplicationBootstrap();
    await pass(0);
    expect(ran.filter((name) => name === 'first')).toHaveLength(2);
    expect(ran).toContain('of an extension');
    await extended.onApplicationShutdown();
  });

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

  it.each([[['api']], [['transcriber']], [['api', 'transcriber']]])(
    'runs only local tasks in a process of %j',
    async (roles) => {
      reconciler = reconcilerOf(roles);
      reconciler.onApplicationBootstrap();
      await pass(0);
      expect(ran).toEqual(['local', 'local, too']);
    },
  );

  it('runs every task in a deliverer that serves the API, too', async () => {
    reconciler = reconcilerOf(['api', 'deliverer']);
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

  it('names each task that failed', async () => {
    reconciler.onApplicationBootstrap();
    await pass(0);
    expect(warn.mock.calls).toEqual([
      [{ err: new Error('local'), task: 'local' }, 'reconciler task failed'],
      [{ err: new Error('first'), task: 'first' }, 'reconciler task failed'],
    ]);
  });

  it('lets Postgres end the transaction of a frozen process after six rounds', async () => {
    reconciler.onApplicationBootstrap();
    await pass(0);
    // One statement: a process may freeze between two, with the lock and without its end.
    const both = /set_config\('idle_in_transaction_session_timeout', \$2, true\), pg_try_advisory_xact_lock\(\$1\)/;
    const parameters = [expect.any(Number), `${6 * RECONCILE_SECONDS}s`];
    expect(statements).toEqual([[expect.stringMatching(both), parameters]]);
  });

  it('gives the connection back when the database fails, and begins the next round in time', async () => {
    failure = new Error('terminating connection');
    reconciler.onApplicationBootstrap();
    await pass(0);
    expect(ended).toEqual(['rollback', 'release']);
    expect(warn).toHaveBeenLastCalledWith({ err: failure }, 'reconciler could not reach the database');
    failure = null;
    await pass(RECONCILE_SECONDS - 0.001);
    expect(ended).toEqual(['rollback', 'release']);
    await pass(0.001);
    expect(ended).toEqual(['rollback', 'release', 'commit', 'release']);
  });

  it.each<[string, string[], number]>([
    ['in a command, which has no role', [], RECONCILE_SECONDS],
    ['with RECONCILE_SECONDS=0', ['deliverer'], 0],
  ])('runs nothing %s', async (_, roles, seconds) => {
    reconciler = reconcilerOf(roles, seconds);
    reconciler.onApplicationBootstrap();
    await pass(10 * RECONCILE_SECONDS);
    expect(ran).toEqual([]);
  });

  it('counts what tasks repair and which fail, and says when the last round with the lock ended', async () => {
    const line = async (start: string) =>
      (await registry.metrics()).split('\n').find((said) => said.startsWith(start)) ?? null;
    reconciler.register('mends', async () => 3, { repairs: 'object_abandoned' });
    expect(await line('reconciler_last_round')).toBeNull();
    reconciler.onApplicationBootstrap();
    await pass(0);
    expect(await line('repairs_total{kind="object_abandoned"}')).toMatch(/ 3$/);
    expect(await line('reconciler_task_failures_total{task="first"}')).toMatch(/ 1$/);
    const endedAt = Date.now() / 1000;
    expect(await line('reconciler_last_round')).toBe(`reconciler_last_round_timestamp_seconds ${endedAt}`);
    held = false;
    await pass(RECONCILE_SECONDS);
    expect(await line('reconciler_last_round')).toBe(`reconciler_last_round_timestamp_seconds ${endedAt}`);
  });

  it('runs all tasks in a process with several roles', async () => {
    reconciler = reconcilerOf(['api', 'deliverer']);
    reconciler.onApplicationBootstrap();
    await pass(0);
    expect(ran).toEqual(['local', 'local, too', 'first', 'second']);
  });

  it('does not wait longer than a second for a task, and does not run it twice at a time', async () => {
    let finish = (): void => undefined;
    let runs = 0;
    reconciler = reconcilerOf(['deliverer']);
    reconciler.register('long', () => {
      runs += 1;
      return new Promise((resolve) => (finish = resolve));
    });
    reconciler.register('last', async () => void ran.push('last'));
    reconciler.onApplicationBootstrap();
    await pass(0.999);
    expect(ran).not.toContain('last');
    await pass(0.001);
    expect(ran.at(-1)).toBe('last');
    expect(ended).toEqual(['commit', 'release']);
    await pass(2 * RECONCILE_SECONDS);
    expect([ran.filter((name) => name === 'last').length, runs]).toEqual([3, 1]);
    finish();
    await pass(RECONCILE_SECONDS);
    expect(runs).toBe(2);
    finish();
  });

  it('finishes the task in progress at the stop, and begins no other', async () => {
    let finish = (): void => undefined;
    reconciler = reconcilerOf(['deliverer']);
    reconciler.register('long', () => new Promise((resolve) => (finish = resolve)));
    reconciler.register('never', async () => void ran.push('never'));
    reconciler.onApplicationBootstrap();
    await pass(0);
    let hasStopped = false;
    const stop = reconciler.onApplicationShutdown().then(() => (hasStopped = true));
    await pass(0);
    expect(hasStopped).toBe(false);
    finish();
    await stop;
    expect(ran).not.toContain('never');
    expect(ended).toEqual(['commit', 'release']);
  });
});

describe('repeatWhileFull', () => {
  async function repeat(changes: number[]): Promise<[isEmpty: boolean, rounds: number]> {
    let rounds = 0;
    const isEmpty = await repeatWhileFull(10, async () => changes[rounds++] ?? 10);
    return [isEmpty, rounds];
  }

  it.each([
    ['nothing was left', [0], true, 1],
    ['the last batch was not full', [10, 10, 9], true, 3],
    ['50 batches were full', [], false, 50],
  ])('ends when %s', async (_, changes, isEmpty, rounds) => {
    expect(await repeat(changes)).toEqual([isEmpty, rounds]);
  });
});
