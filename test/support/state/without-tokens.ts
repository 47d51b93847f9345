import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';

/** An account of the plan free gets a token every six seconds. */
const LONG_WAIT_SECONDS = 5;

/**
 * Runs `work` while the account, of the plan free, has no tokens: it begins when the next one is seconds away, and what
 * comes in meanwhile is taken, so that `work` may be slow.
 */
export async function withoutTokens(client: ApiClient, work: () => Promise<void>): Promise<void> {
  const take = async (): Promise<number> => Number((await client.get('/v1/account')).headers['retry-after'] ?? 0);
  await eventually(async () => {
    const waits = await Promise.all(Array.from({ length: 5 }, take));
    return Math.max(...waits) >= LONG_WAIT_SECONDS;
  });
  let isDone = false;
  const takeAll = async (): Promise<void> => {
    while (!isDone) {
      await take();
      await delay(100);
    }
  };
  await Promise.all([work().finally(() => (isDone = true)), takeAll()]);
}
