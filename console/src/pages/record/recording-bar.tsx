import { Link, useLocation } from 'wouter-preact';

import { recorder } from '../../capture/recorder';
import { Icon } from '../../components/icon';
import { formatDuration, spokenDuration } from '../../format/duration';
import { t } from '../../language/texts';
import { sendRecording } from './send-recording';
import './recording-bar.css';

/** The recorder on every page but its own. */
export function RecordingBar() {
  const [path] = useLocation();
  const state = recorder.state.value;
  if (path === '/record' || state === 'idle' || state === 'starting') return null;
  const seconds = Math.floor(recorder.seconds.value);
  return (
    <section class={`recording-bar is-${state}`} aria-label={t('Recorder')}>
      <Link href="/record" class="recording-bar-state">
        <span class="recording-dot" />
        <span>{t(WORDS[state])}</span>
        <span class="numbers" role="timer" aria-label={spokenDuration(seconds)}>
          {formatDuration(seconds)}
        </span>
      </Link>
      {state !== 'saving' && (
        <div class="recording-bar-actions">
          {state === 'recording' ? (
            <button type="button" class="button" onClick={() => void recorder.pause()}>
              <Icon name="pause" />
              {t('Pause')}
            </button>
          ) : (
            <button type="button" class="button" onClick={() => recorder.resume()}>
              <Icon name="mic" />
              {t('Resume')}
            </button>
          )}
          <button type="button" class="button is-primary" onClick={() => void sendRecording()}>
            <Icon name="upload" />
            {t('Finish and send')}
          </button>
        </div>
      )}
    </section>
  );
}

const WORDS = { recording: 'Recording', paused: 'Paused', saving: 'Saving…' } as const;
