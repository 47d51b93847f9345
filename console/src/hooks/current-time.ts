import { signal } from '@preact/signals';

/** The time, a few times a minute. What reads its value is drawn again: ages stay true on a page that stays open. */
export const currentTime = signal(Date.now());

const STEP_MS = 20_000;

setInterval(() => {
  if (!document.hidden) currentTime.value = Date.now();
}, STEP_MS);
