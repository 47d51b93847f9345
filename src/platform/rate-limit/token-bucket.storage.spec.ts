import type { RedisService } from '../queue/redis.service.js';
import { TokenBucketStorage } from './token-bucket.storage.js';

const MINUTE_MS = 60_000;
const MINUTE_US = 60_000_000;

describe('TokenBucketStorage', () => {
  it('tells which of two buckets is empty when Redis took from neither', async () => {
    const now = Date.now() * 1000;
    let answer = [0, MINUTE_US, now, 0];
    const redis = { client: { defineCommand: () => undefined }, tryCommand: async () => answer };
    const storage = new TokenBucketStorage(redis as unknown as RedisService);
    const take = async () => {
      const bucket = { ttl: MINUTE_MS, limit: 2 };
      const records = await storage.incrementBoth({ key: 'own', ...bucket }, { key: 'shared', ...bucket });
      return records.map(({ isBlocked }) => isBlocked);
    };
    expect(await take()).toEqual([true, false]);
    answer = [0, 0, now, MINUTE_US];
    expect(await take()).toEqual([false, true]);
    answer = [0, MINUTE_US, now, MINUTE_US];
    expect(await take()).toEqual([true, true]);
    answer = [1, MINUTE_US, now, MINUTE_US];
    expect(await take()).toEqual([false, false]);
  });
});
