import { useEffect, useRef } from 'preact/hooks';
import type { Delivery } from 'vnotes';

import { dateOf } from '../../../format/date';
import { liveState, useLiveEvents } from '../../../session/live-events';
import { backgroundTime } from '../../../session/pacing';
import { rateLimit } from '../../../session/session';

/** From an event to the outcome of its first attempt, as a rule. Many events within that time are one look. */
const DELIVERED_MS = 1500;
/** Between two looks at a delivery that is being sent. */
const SENDING_MS = 4000;
/** Without events, and for an attempt that is far away. */
const LONGEST_MS = 15_000;
/** Of the limit of requests: for what a person does meanwhile. */
const KEPT_FOR_PEOPLE = 0.2;

/** Loads the log again after events, and when an attempt is due, while somebody looks at it. */
export function useFollow(deliveries: readonly Delivery[] | undefined, reload: () => void): void {
  const state = useRef({ timer: 0, at: Infinity, last: Date.now() }).current;
  const lookAt = (time: number) => {
    const at = Math.max(time, backgroundTime(rateLimit.peek(), KEPT_FOR_PEOPLE, state.last));
    if (at >= state.at) return;
    clearTimeout(state.timer);
    state.at = at;
    state.timer = window.setTimeout(() => {
      state.at = Infinity;
      if (document.visibilityState === 'hidden') return lookAt(Date.now() + LONGEST_MS);
      state.last = Date.now();
      reload();
    }, at - Date.now());
  };
  useLiveEvents(() => lookAt(Date.now() + DELIVERED_MS));
  const isLive = liveState.value === 'live';
  useEffect(() => {
    const due = (deliveries ?? []).filter(({ status }) => status === 'pending').map(dueTime);
    const next = isLive ? Math.min(...due) : Date.now() + LONGEST_MS;
    if (next < Infinity) lookAt(Math.max(next + DELIVERED_MS, Date.now() + SENDING_MS));
  }, [deliveries, isLive]);
  useEffect(() => () => clearTimeout(state.timer), []);
}

function dueTime({ next_attempt_at }: Delivery): number {
  return next_attempt_at === null ? 0 : dateOf(next_attempt_at).getTime();
}
