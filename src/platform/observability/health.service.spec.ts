import { Registry } from 'prom-client';
import type { DatabaseService } from '../database/database.service.js';
import type { RedisService } from '../redis/redis.service.js';
import type { StorageKeysService } from '../storage/encryption/storage-keys.service.js';
import type { ObjectStore } from '../storage/object-store.js';
import { HealthService } from './health.service.js';

const REDIS_LOST = 'Redis is unavailable; limiting per process. Jobs start with a delay.';

describe('HealthService (D31)', () => {
  let postgres: () => Promise<unknown[]>;
  let storage: () => Promise<void>;
  let isUsable: boolean;
  let keys: string | null;
  let health: HealthService;
  let registry: Registry;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    postgres = async () => [];
    storage = async () => undefined;
    isUsable = true;
    keys = null;
    registry = new Registry();
    health = new HealthService(
      { query: () => postgres() } as unknown as DatabaseService,
      { check: () => storage() } as unknown as ObjectStore,
      { isUsable: async () => isUsable } as unknown as RedisService,
      registry,
      { problem: async () => keys } as unknown as StorageKeysService,
    );
  });
  afterEach(() => jest.useRealTimers());

  const fail = (message: string) => () => Promise.reject(new Error(message));

  it('shows each check as a metric, read once in 5 s', async () => {
    const figures = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('health'));
    health.notice('models', async () => 'gone');
    isUsable = false;
    const before = [
      'health_check{check="postgres"} 1',
      'health_check{check="storage"} 1',
      'health_check{check="models"} 0',
      'health_check{check="redis"} 0',
    ];
    expect(await figures()).toEqual(before);
    isUsable = true;
    postgres = fail('refused');
    expect(await figures()).toEqual(before);
    jest.advanceTimersByTime(5000);
    expect((await figures()).map((line) => line.at(-1))).toEqual(['0', '1', '0', '1']);
  });

  it('is ok when all answer', async () => {
    health.notice('models', async () => null);
    expect(await health.report()).toEqual({
      status: 'ok',
      checks: { postgres: 'ok', storage: 'ok', redis: 'ok' },
    });
  });

  it('is degraded without Redis, or while a notice reports a problem, which it lists', async () => {
    isUsable = false;
    expect(await health.report()).toEqual({
      status: 'degraded',
      checks: { postgres: 'ok', storage: 'ok', redis: REDIS_LOST },
    });
    isUsable = true;
    keys = 'no KMS';
    expect((await health.report()).checks).toMatchObject({ keys: 'no KMS' });
    keys = null;
    health.notice('speech', async () => 'no detector');
    expect(await health.report()).toEqual({
      status: 'degraded',
      checks: { postgres: 'ok', storage: 'ok', speech: 'no detector', redis: 'ok' },
    });
  });

  it.each<[string, () => void, object]>([
    ['Postgres', () => (postgres = fail('no connection')), { postgres: 'no connection' }],
    ['the storage', () => (storage = fail('disk full')), { storage: 'disk full' }],
    ['what a module requires', () => health.require('engine', async () => 'no model'), { engine: 'no model' }],
  ])('is unavailable without %s', async (_, happen, checks) => {
    happen();
    expect(await health.report()).toMatchObject({ status: 'unavailable', checks });
  });

  it('gives a check 2 s', async () => {
    storage = () => new Promise(() => undefined);
    let report: unknown = null;
    void health.report().then((made) => (report = made));
    await jest.advanceTimersByTimeAsync(1999);
    expect(report).toBeNull();
    await jest.advanceTimersByTimeAsync(1);
    expect(report).toMatchObject({ status: 'unavailable', checks: { storage: 'no answer within 2000 ms' } });
  });

  it('asks once a second for everybody, and each time for the operator', async () => {
    let asked = 0;
    postgres = async () => (asked++, []);
    await Promise.all([health.status(), health.status()]);
    await jest.advanceTimersByTimeAsync(999);
    expect(await health.status()).toBe('ok');
    expect(asked).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    await health.status();
    expect(asked).toBe(2);
    await health.report();
    expect(asked).toBe(3);
  });
});
