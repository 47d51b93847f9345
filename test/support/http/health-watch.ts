import { cpuTime } from '../service/engine-processes.js';
import { expectAlive } from './expect-unharmed.js';

const INTERVAL_MS = 100;

/**
 * Requests `/health/live` again and again. `stop` returns the longest time in milliseconds for which the service kept a
 * request waiting, or Infinity when one got no answer. A wait counts only as far as the service used the CPU
 * meanwhile: on a busy machine the rest was spent by other processes.
 * @param pid of the service; Linux only, elsewhere no wait counts.
 */
export function watchHealth(url: string, pid: number = process.pid): { stop: () => Promise<number> } {
  let slowest = 0;
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      const before = cpuTime(pid);
      const waited = await expectAlive(url).catch(() => Infinity);
      const used = (cpuTime(pid) - before) * 10;
      slowest = Math.max(slowest, waited === Infinity ? waited : Math.min(waited, used));
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
