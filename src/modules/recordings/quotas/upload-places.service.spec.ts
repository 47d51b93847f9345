import { ConcurrentUploadsError } from '../../../platform/errors/errors.js';
import type { RedisService } from '../../../platform/queue/redis.service.js';
import type { QuotaRefusalsService } from './quota-refusals.service.js';
import { UploadPlacesService } from './upload-places.service.js';

describe('UploadPlacesService while Redis is unavailable (D32)', () => {
  const counted: string[] = [];
  const redis = { client: { defineCommand: () => undefined }, tryCommand: async () => null };
  const refusals = { count: (quota: string) => void counted.push(quota) };
  const places = new UploadPlacesService(redis as unknown as RedisService, refusals as unknown as QuotaRefusalsService);

  afterAll(() => places.onApplicationShutdown());

  it('counts the uploads of this process, by account, and a place is freed once', async () => {
    const [free] = [await places.take('a', 2), await places.take('a', 2)];
    await expect(places.take('a', 2)).rejects.toThrow(ConcurrentUploadsError);
    expect(counted).toEqual(['concurrent_uploads']);
    await places.take('b', 2);
    expect(await places.count('a')).toBe(2);
    free();
    free();
    expect(await places.count('a')).toBe(1);
    await places.take('a', 2);
    await expect(places.take('a', 2)).rejects.toThrow(ConcurrentUploadsError);
  });

  it('counts nothing for an account without a limit', async () => {
    for (let i = 0; i < 100; i++) await places.take('c', null);
    expect(await places.count('c')).toBe(0);
  });
});
