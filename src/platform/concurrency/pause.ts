import { setTimeout as delay } from 'node:timers/promises';

/** @throws the signal's reason when it is aborted: the timer itself would throw an error of its own. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
  signal.throwIfAborted();
}
