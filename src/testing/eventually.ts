import { setTimeout as delay } from 'node:timers/promises';

const STEP_MS = 50;

/** What `ask` gives once it is neither null nor undefined nor false. @throws Error when that takes longer than `ms`. */
export async function eventually<T>(
  ask: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  ms = 60_000,
): Promise<T> {
  const deadline = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`it did not happen within ${ms} ms`);
    await delay(STEP_MS);
  }
}
