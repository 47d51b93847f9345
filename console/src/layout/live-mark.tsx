import { t, type Text } from '../language/texts';
import { type LiveState, liveState } from '../session/live-events';

const WORDS: Partial<Record<LiveState, Text>> = { connecting: 'Connecting…', live: 'Live', offline: 'Offline' };

/** Whether changes appear by themselves. */
export function LiveMark() {
  const state = liveState.value;
  const words = WORDS[state];
  return (
    <span class={`live-mark is-${state}`} role="status">
      {words && t(words)}
    </span>
  );
}
