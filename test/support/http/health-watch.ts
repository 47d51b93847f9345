import { startStopwatch } from '../cpu-wait.js';
import { askLive } from './expect-unharmed.js';

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
