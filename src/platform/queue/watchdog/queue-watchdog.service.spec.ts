import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import type { Queue } from 'bull';
import type { Env, Role } from '../../config/env.js';
import { QueueWatchdogService } from './queue-watchdog.service.js';
import type { RedisService } from '../../redis/redis.service.js';

const CHECK_MS = 10_000;

describe('QueueWatchdogService', () => {
  let waiting: number | null;
  let isBusy: boolean;
  let exits: number;
  let queue: EventEmitter;
  let fatal: jest.SpyInstance;
  let watchdog: QueueWatchdogService;

  function start(roles: Role[], options: object = { exit: () => void exits++ }): void {
    const redis = { tryCommand: (command: () => Promise<number>) => (waiting === null ? null : command()) };
    watchdog = new QueueWatchdogService({ roles } as unknown as Env, redis as unknown as RedisService, options);
    watchdog.watch(queue as unknown as Queue, () => isBusy);
    watchdog.onApplicationBootstrap();
  }

  beforeEach(() => {
    jest.useFakeTimers();
    fatal = jest.spyOn(Logger.prototype, 'fatal').mockReturnValue(undefined);
    waiting = 3;
    isBusy = false;
    exits = 0;
    queue = Object.assign(new EventEmitter(), { name: 'deliveries', getWaitingCount: async () => waiting });
  });

  afterEach(() => {
    watchdog.onModuleDestroy();
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const check = (times: number) => jest.advanceTimersByTimeAsync(times * CHECK_MS);

  it('exits once when jobs wait and none is taken for more than a minute, by checks of 10 s', async () => {
    start(['deliverer']);
    await check(6);
    expect(exits).toBe(0);
    await check(1);
    expect(exits).toBe(1);
    expect(fatal).toHaveBeenCalledWith({ queue: 'deliveries', waiting: 3 }, 'queue consumer stalled; exiting');
    await check(20);
    expect(exits).toBe(1);
  });

  it.each<[string, () => void]>([
    ['a job was taken', () => void queue.emit('active')],
    ['no job waits', () => (waiting = 0)],
    ['Redis is unavailable', () => (waiting = null)],
    ['this process is busy', () => (isBusy = true)],
  ])('counts anew after %s', async (_, happen) => {
    start(['transcriber']);
    await check(6);
    happen();
    await check(1);
    [waiting, isBusy] = [3, false];
    await check(5);
    expect(exits).toBe(0);
    await check(2);
    expect(exits).toBe(1);
  });

  it('checks in every process that takes jobs, and in no other', async () => {
    start(['api']);
    await check(20);
    expect(exits).toBe(0);
    start(['api', 'deliverer']);
    await check(7);
    expect(exits).toBe(1);
  });

  it('does not check after the stop', async () => {
    start(['deliverer']);
    watchdog.onModuleDestroy();
    await check(20);
    expect(exits).toBe(0);
  });

  it('ends the process in order, with exit code 1', async () => {
    const kill = jest.spyOn(process, 'kill').mockReturnValue(true);
    const code = process.exitCode;
    start(['deliverer'], {});
    await check(7);
    expect(process.exitCode).toBe(1);
    process.exitCode = code;
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGTERM']]);
  });
});
