import type { RefObject } from 'preact';

import { standingProblem } from '../../capture/microphone';
import { recorder } from '../../capture/recorder';
import { Icon, type IconName } from '../../components/icon';
import { t } from '../../language/texts';

interface ControlsProps {
  main: RefObject<HTMLButtonElement | null>;
  onStart: () => void;
  onSend: () => void;
  onDiscard: () => void;
}

/** One button that stays where it is: record, pause, resume. The others come with the recording. */
export function RecorderControls({ main, onStart, onSend, onDiscard }: ControlsProps) {
  const state = recorder.state.value;
  const isActive = state === 'recording' || state === 'paused';
  const { label, icon, run } = mainAction(onStart);
  return (
    <div class="recorder-controls">
      {isActive && (
        <button type="button" class="button is-quiet is-danger" onClick={onDiscard}>
          <Icon name="trash" />
          {t('Discard')}
        </button>
      )}
      <button
        ref={main}
        type="button"
        class={`button recorder-main${isActive ? '' : ' is-primary'}`}
        disabled={standingProblem() !== null}
        aria-disabled={state === 'starting' || state === 'saving'}
        onClick={run}
      >
        <Icon name={icon} size={24} />
        {label}
      </button>
      {isActive && (
        <button type="button" class="button is-primary" onClick={onSend}>
          <Icon name="upload" />
          {t('Finish and send')}
        </button>
      )}
    </div>
  );
}

function mainAction(onStart: () => void): { label: string; icon: IconName; run: () => void } {
  switch (recorder.state.value) {
    case 'recording':
      return { label: t('Pause'), icon: 'pause', run: () => void recorder.pause() };
    case 'paused':
      return { label: t('Resume'), icon: 'mic', run: () => recorder.resume() };
    default:
      return { label: t('Record'), icon: 'mic', run: onStart };
  }
}
