import { readFileSync } from 'node:fs';
import { expectAlive } from './expect-unharmed.js';

const INTERVAL_MS = 100;
/** Beyond this a request counts as unanswered. */
const LIMIT_MS = 10_000;
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
  const pids = new Set([pid, process.pid]);
  let slowest = 0;
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      const before = waitedForCpu(pids);
      const waited = await expectAlive(url, LIMIT_MS).catch(() => Infinity);
      slowest = Math.max(slowest, waited - (waitedForCpu(pids) - before));
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

/** Milliseconds that the main threads were ready to run and had no CPU (schedstat, proc(5)); 0 where that is unknown. */
function waitedForCpu(pids: Iterable<number>): number {
  try {
    const nanoseconds = [...pids].map((pid) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]));
    return nanoseconds.reduce((sum, value) => sum + value, 0) / 1_000_000;
  } catch {
    return 0;
  }
}
