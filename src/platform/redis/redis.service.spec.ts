import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Env } from '../config/env.js';
import { RedisService, Timeout } from './redis.service.js';

/** Nobody listens there: each test says what a command answers. */
const NOWHERE = { redisUrl: 'redis://127.0.0.1:1', redisSentinels: [] as string[] } as unknown as Env;

describe('RedisService', () => {
  let redis: RedisService;
  let log: jest.SpyInstance;
  let warn: jest.SpyInstance;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    log = jest.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
    warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    redis = new RedisService(NOWHERE);
    redis.client.disconnect();
  });

  afterEach(() => {
    redis.onApplicationShutdown();
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const silent = () => new Promise<string>(() => undefined);
  const fail = () => Promise.reject(new Error('no connection'));
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('gives up an answer after 250 ms, and sends nothing for the next second', async () => {
    const answers: unknown[] = [];
    const begun = Date.now();
    void redis.tryCommand(silent).then((answer) => answers.push(answer));
    await pass(249);
    expect(answers).toEqual([]);
    await pass(1);
    expect([answers, Date.now() - begun]).toEqual([[null], 250]);

    const command = jest.fn(async () => 'sent');
    await pass(999);
    expect(await redis.tryCommand(command)).toBeNull();
    expect(command).not.toHaveBeenCalled();
    await pass(1);
    expect(await redis.tryCommand(command)).toBe('sent');
    expect(command).toHaveBeenCalledWith(redis.client);
  });

  it('sends nothing for a second after a command that failed, and no longer', async () => {
    expect(await redis.tryCommand(fail)).toBeNull();
    await pass(999);
    expect(await redis.tryCommand(async () => 'sent')).toBeNull();
    await pass(1);
    expect(await redis.tryCommand(async () => 'sent')).toBe('sent');
  });

  it('logs an outage once, and its end once', async () => {
    for (let i = 0; i < 3; i++) {
      expect(await redis.tryCommand(fail)).toBeNull();
      await pass(1000);
    }
    redis.client.emit('error', new Error('still no connection'));
    expect(warn.mock.calls).toEqual([[{ err: new Error('no connection') }, 'redis unavailable; limiting per process']]);
    expect(log).not.toHaveBeenCalled();
    await redis.tryCommand(async () => 'sent');
    expect(log).toHaveBeenCalledTimes(1);
    redis.client.emit('ready');
    expect(log.mock.calls).toEqual([['redis available again']]);
    redis.client.emit('error', new Error('gone'));
    redis.client.emit('ready');
    expect([warn.mock.calls.length, log.mock.calls.length]).toEqual([2, 2]);
  });

  it.each<[string, () => Promise<string | null>, boolean]>([
    ['OK', async () => 'OK', true],
    ['nothing', async () => null, false],
    ['something else', async () => 'QUEUED', false],
    ['an error, as a replica does', fail, false],
  ])('is usable only when a write is answered with OK: %s', async (_, answer, usable) => {
    const set = jest.fn(answer);
    jest.spyOn(redis, 'tryCommand').mockImplementation(async (command) => {
      return await command({ set } as unknown as Redis).catch(() => null);
    });
    expect(await redis.isUsable()).toBe(usable);
    expect(set.mock.calls).toEqual([['write-check:{bull}', '1', 'PX', 1000]]);
  });

  it('delays a start by at most half a second', async () => {
    let started = false;
    void redis.onModuleInit().then(() => (started = true));
    await pass(0);
    expect(started).toBe(false);
    redis.client.emit('ready');
    await pass(0);
    expect(started).toBe(true);
  });

  it('closes its connection with the process', () => {
    const disconnect = jest.spyOn(redis.client, 'disconnect');
    redis.onApplicationShutdown();
    expect(disconnect.mock.calls).toEqual([[]]);
  });
});

const never = (): Promise<never> => new Promise(() => undefined);

describe('Timeout', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('settles as an answer in time does, and leaves no timer running', async () => {
    const timeout = new Timeout(250);
    await expect(timeout.within(Promise.resolve('yes'))).resolves.toBe('yes');
    await expect(timeout.within(Promise.reject(new Error('no')))).rejects.toThrow('no');
    jest.advanceTimersByTime(50);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('rejects after the time, counted from the start of each wait', async () => {
    const timeout = new Timeout(250);
    const ends: string[] = [];
    const wait = (name: string) =>
      timeout.within(never()).catch(({ message }: Error) => ends.push(`${name}: ${message}`));
    const first = wait('first');
    jest.advanceTimersByTime(100);
    const second = wait('second');
    jest.advanceTimersByTime(149);
    await Promise.resolve();
    expect(ends).toEqual([]);
    jest.advanceTimersByTime(1);
    await first;
    expect(ends).toEqual(['first: no answer within 250 ms']);
    jest.advanceTimersByTime(100);
    await second;
    expect(ends).toHaveLength(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('counts a stall of the event loop as one step', async () => {
    jest.useRealTimers();
    const timeout = new Timeout(100);
    const answer = timeout.within(delay(10, 'in time'));
    const until = performance.now() + 300;
    while (performance.now() < until);
    await expect(answer).resolves.toBe('in time');
  });
});
