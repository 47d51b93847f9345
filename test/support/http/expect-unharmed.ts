import { once } from 'node:events';
import { get, globalAgent, type IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { startStopwatch } from '../cpu-wait.js';
import { type UploadState, uploadState } from '../state/upload-state.js';
import type { Answer } from './clients/raw-http.js';

/** Beyond this a request counts as unanswered. */
const LIMIT_MS = 10_000;
const LIVE_MS = 1000;
const SETTLE_MS = 30_000;
const STACK = /\n\s+at |node_modules|[\\/](?:src|dist)[\\/]|\.[cm]?[jt]s:\d/;

/** Whatever was sent: no defect of ours, and nothing of our inside, in what comes back. */
export function expectHarmless({ status, text }: Pick<Answer, 'status' | 'text'>): void {
  expect(status).toBeLessThan(500);
  expect(text).not.toMatch(STACK);
}

/** The service answers on `/health/live` within a second, not counting the time in which other processes had the CPU. */
export async function expectAlive(url: string): Promise<void> {
  const elapsed = startStopwatch();
  await askLive(url);
  expect(elapsed()).toBeLessThan(LIVE_MS);
}

/** Resolves once `/health/live` has answered with 200. @throws Error without an answer within ten seconds. */
async function askLive(url: string): Promise<void> {
  const asking = get(`${url}/health/live`, { agent: false, signal: AbortSignal.timeout(LIMIT_MS) });
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  answer.resume();
  expect(answer.statusCode).toBe(200);
}

/** Of uploads nothing more is kept than `before`, and no connection is held: clean-up may take a moment. */
export async function expectNothingKept(
  service: TestService,
  environment: TestEnvironment,
  before: UploadState,
): Promise<void> {
  let after = before;
  await eventually(async () => {
    after = await uploadState(service, environment);
    return isDeepStrictEqual(after, before);
  }, SETTLE_MS).catch(() => expect(after).toEqual(before));
  await expectNoConnections(service);
}

/** Clients that stay are no excuse: connections that were refused are ended from our side. */
export async function expectNoConnections(service: TestService, ms = SETTLE_MS): Promise<void> {
  const server = service.app.getHttpServer();
  // Those that supertest keeps for later.
  globalAgent.destroy();
  const count = (): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, open) => (error ? reject(error) : resolve(open))));
  await eventually(async () => (await count()) === 0, ms).catch(async () => expect(await count()).toBe(0));
}

const INTERVAL_MS = 100;
/** A service that works keeps no request waiting longer, on a busy machine either. */
export const HEALTHY_MS = 3000;

/**
 * Requests `/health/live` again and again. `stop` returns the longest time in milliseconds for which the service kept a
 * request waiting, or Infinity when one got no answer. On Linux the time in which other processes had the CPU is not
 * counted; a service that blocks without using the CPU is.
 * @param pid of the service.
 */
export function watchHealth(url: string, pid: number = process.pid): { stop: () => Promise<number> } {
  // The service, and this process, which sends the requests.
  const pids = [...new Set([pid, process.pid])];
  let slowest = 0;
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      const elapsed = startStopwatch(pids);
      const waited = await askLive(url).then(elapsed, () => Infinity);
      slowest = Math.max(slowest, waited);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
    }
  })();
  return {
    stop: async () => {
      isStopped = true;
      await watching;
      return slowest;
    },
  };
}
