import { liveState } from '../session/live-events';

const WORDS = { off: '', connecting: 'Connecting…', live: 'Live', offline: 'Offline' } as const;

/** Whether changes appear by themselves. */
export function LiveMark() {
  const state = liveState.value;
  return (
    <span class={`live-mark is-${state}`} role="status">
      {WORDS[state]}
    </span>
  );
}
