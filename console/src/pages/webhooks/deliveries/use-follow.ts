import { useEffect, useRef } from 'preact/hooks';

import { useLiveEvents } from '../../../session/live-events';

/** Slow enough that following a log leaves requests for other things on the smallest plan. */
const FOLLOW_MS = 15_000;
/** From an event to the outcome of its first attempt, as a rule. Many events within that time are one look. */
const DELIVERED_MS = 1500;

/** Loads the log again after events, and from time to time for later attempts, while somebody looks at it. */
export function useFollow(isOn: boolean, reload: () => void): void {
  const soon = useRef<number | undefined>(undefined);
  useLiveEvents(() => {
    if (!isOn || soon.current !== undefined) return;
    soon.current = window.setTimeout(() => {
      soon.current = undefined;
      reload();
    }, DELIVERED_MS);
  });
  useEffect(() => {
    if (isOn) reload();
    const timer = setInterval(() => {
      if (isOn && document.visibilityState === 'visible') reload();
    }, FOLLOW_MS);
    return () => {
      clearInterval(timer);
      clearTimeout(soon.current);
      soon.current = undefined;
    };
  }, [isOn]);
}
