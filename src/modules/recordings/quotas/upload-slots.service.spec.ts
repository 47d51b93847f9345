import { ConcurrentUploadsError } from '../../../platform/errors/errors.js';
import type { RedisService } from '../../../platform/redis/redis.service.js';
import type { QuotaRefusalsService } from './quota-refusals.service.js';
import { UploadSlotsService } from './upload-slots.service.js';

describe('UploadSlotsService while Redis is unavailable (D32)', () => {
  const counted: string[] = [];
  const redis = { client: { defineCommand: () => undefined }, tryCommand: async () => null };
  const refusals = { count: (quota: string) => void counted.push(quota) };
  const slots = new UploadSlotsService(redis as unknown as RedisService, refusals as unknown as QuotaRefusalsService);

  afterAll(() => slots.onApplicationShutdown());

  it('counts the uploads of this process, by account, and a slot is freed once', async () => {
    const [free] = [await slots.take('a', 2), await slots.take('a', 2)];
    await expect(slots.take('a', 2)).rejects.toThrow(ConcurrentUploadsError);
    expect(counted).toEqual(['concurrent_uploads']);
    await slots.take('b', 2);
    expect(await slots.count('a')).toBe(2);
    free();
    free();
    expect(await slots.count('a')).toBe(1);
    await slots.take('a', 2);
    await expect(slots.take('a', 2)).rejects.toThrow(ConcurrentUploadsError);
  });

  it('counts nothing for an account without a limit', async () => {
    for (let i = 0; i < 100; i++) await slots.take('c', null);
    expect(await slots.count('c')).toBe(0);
  });
});
