import type { Redis } from 'ioredis';
import type { Caller } from './api-client.js';
import { figure } from '../service/measurements.js';
import { rapidFire, type Shot } from './load.js';

interface Limit {
  rate: number;
  burst: number;
}

/** How many requests were let through, and between which figures the formula of D6 puts it. */
export interface Allowed {
  count: number;
  atMost: number;
  atLeast: number;
  shots: Shot[];
}

/** Fewer than the service has database connections: no request waits so long for one that it ends as a 503. */
const IN_FLIGHT = 15;
/** So many requests take more than a slow machine's pauses refill: from then on the bucket is never full, and so exact. */
const SALVO = 100;

/**
 * Fires at a rested account's bucket until it is empty and `ms` are over. The elapsed time is read off Redis's own
 * clock, on which the bucket runs: around all requests for the upper bound, and within them for the lower one.
 * @param callers take turns; all of one account.
 */
export async function countAllowed(redis: Redis, callers: Caller[], limit: Limit, ms: number): Promise<Allowed> {
  const targetOf = (index: number) => {
    const caller = callers[index % callers.length] as Caller;
    return { url: `${caller.url}/v1/webhooks?limit=1`, headers: caller.headers };
  };
  const fire = (times: number) => rapidFire((index) => (index < times ? targetOf(index) : null), IN_FLIGHT);

  const before = await now(redis);
  const shots = await fire(Math.min(SALVO, Math.ceil(limit.burst / 2)));
  const afterSalvo = await now(redis);
  const deadline = performance.now() + ms;
  const goOn = (soFar: readonly Shot[]) => performance.now() < deadline || !soFar.some(isRefusal);
  shots.push(...(await rapidFire((index, soFar) => (goOn(soFar) ? targetOf(index) : null), IN_FLIGHT)));
  let beforeLast: number;
  do {
    beforeLast = await now(redis);
    shots.push(...(await fire(1)));
  } while (!isRefusal(shots.at(-1)));
  const after = await now(redis);

  const others = shots.filter(({ status }) => status !== 200 && status !== 429);
  if (others.length > 0) throw new Error(`${others.length} requests came to something else: ${others[0]?.body}`);
  const allowed = shots.filter((shot) => !isRefusal(shot)).length;
  const atMost = limit.burst + Math.floor(((after - before) * limit.rate) / 60_000_000);
  const atLeast = limit.burst + Math.floor(((beforeLast - afterSalvo) * limit.rate) / 60_000_000);
  const seconds = ((after - before) / 1_000_000).toFixed(2);
  figure(
    `rate ${limit.rate}/min burst ${limit.burst}: ${shots.length} requests in ${seconds} s, ` +
      `${allowed} allowed, formula ${atLeast} to ${atMost}`,
  );
  return { count: allowed, atMost, atLeast, shots };
}

const isRefusal = (shot?: Shot): boolean => shot?.status === 429;

/** Redis's clock in microseconds. */
export async function now(redis: Redis): Promise<number> {
  const [seconds, microseconds] = (await redis.time()) as unknown as [string, string];
  return Number(seconds) * 1_000_000 + Number(microseconds);
}
