import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Agent, request } from 'undici';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { reportMeasurement } from '../service/measurements.js';

/** An answer to one of many requests. */
export interface TimedResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** From the request to the end of the answer. */
  ms: number;
}

interface Target {
  url: string;
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS' | 'HEAD';
  headers?: Record<string, string>;
}

/**
 * Sends many requests over few connections that are kept, as fast as they are answered.
 * @param next gives the next request, or null when there is to be no more; it is told the answers so far.
 */
export async function sendMany(
  next: (index: number, responses: readonly TimedResponse[]) => Target | null | Promise<Target | null>,
  inFlight = 30,
): Promise<TimedResponse[]> {
  const dispatcher = new Agent({ connections: inFlight, pipelining: 1 });
  const responses: TimedResponse[] = [];
  let index = 0;
  const connection = async (): Promise<void> => {
    for (let target = await next(index++, responses); target !== null; target = await next(index++, responses)) {
      const started = performance.now();
      const { url, method = 'GET', headers = {} } = target;
      const answer = await request(url, { method, headers, dispatcher });
      const body = await answer.body.text();
      responses.push({
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
        body,
        ms: performance.now() - started,
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: inFlight }, connection));
    return responses;
  } finally {
    await dispatcher.close();
  }
}

interface Limit {
  rate: number;
  burst: number;
}

/** How many requests were let through, and between which figures the formula of D6 puts it. */
export interface Allowed {
  count: number;
  atMost: number;
  atLeast: number;
  responses: TimedResponse[];
}

/** Fewer than the service has database connections: no request waits so long for one that it ends as a 503. */
const IN_FLIGHT = 15;
/** So many requests take more than a slow machine's pauses refill: from then on the bucket is never full, and so exact. */
const FIRST_REQUESTS = 100;
/** Pause of each connection after a refusal. More requests take no more tokens from an empty bucket. */
const PAUSE_MS = 50;

/**
 * Fires at a rested account's bucket until it is empty and `ms` are over. The elapsed time is read off Redis's own
 * clock, on which the bucket runs: around all requests for the upper bound, and within them for the lower one.
 * @param clients take turns; all of one account.
 */
export async function countAllowed(redis: Redis, clients: ApiClient[], limit: Limit, ms: number): Promise<Allowed> {
  const targetOf = (index: number) => {
    const client = clients[index % clients.length] as ApiClient;
    return { url: `${client.url}/v1/webhooks?limit=1`, headers: client.headers };
  };
  const fire = (times: number) => sendMany((index) => (index < times ? targetOf(index) : null), IN_FLIGHT);

  const before = await now(redis);
  const responses = await fire(Math.min(FIRST_REQUESTS, Math.ceil(limit.burst / 2)));
  const afterFirst = await now(redis);
  const deadline = performance.now() + ms;
  const goOn = (soFar: readonly TimedResponse[]) => performance.now() < deadline || !soFar.some(isRefusal);
  const next = async (index: number, soFar: readonly TimedResponse[]) => {
    if (isRefusal(soFar.at(-1))) await delay(PAUSE_MS);
    return goOn(soFar) ? targetOf(index) : null;
  };
  responses.push(...(await sendMany(next, IN_FLIGHT)));
  let beforeLast: number;
  do {
    beforeLast = await now(redis);
    responses.push(...(await fire(1)));
  } while (!isRefusal(responses.at(-1)));
  const after = await now(redis);

  const others = responses.filter(({ status }) => status !== 200 && status !== 429);
  if (others.length > 0) throw new Error(`${others.length} requests came to something else: ${others[0]?.body}`);
  const allowed = responses.filter((response) => !isRefusal(response)).length;
  const atMost = limit.burst + Math.floor(((after - before) * limit.rate) / 60_000_000);
  const atLeast = limit.burst + Math.floor(((beforeLast - afterFirst) * limit.rate) / 60_000_000);
  const seconds = ((after - before) / 1_000_000).toFixed(2);
  reportMeasurement(
    `rate ${limit.rate}/min burst ${limit.burst}: ${responses.length} requests in ${seconds} s, ` +
      `${allowed} allowed, formula ${atLeast} to ${atMost}`,
  );
  return { count: allowed, atMost, atLeast, responses };
}

const isRefusal = (response?: TimedResponse): boolean => response?.status === 429;

/** Redis's clock in microseconds. */
export async function now(redis: Redis): Promise<number> {
  const [seconds, microseconds] = (await redis.time()) as unknown as [string, string];
  return Number(seconds) * 1_000_000 + Number(microseconds);
}
