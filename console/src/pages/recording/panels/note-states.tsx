import { useSignal } from '@preact/signals';
import type { Recording } from 'vnotes';
import { Link } from 'wouter-preact';

import { Empty } from '../../../components/empty';
import { Icon } from '../../../components/icon';
import { formatDuration } from '../../../format/duration';
import { t } from '../../../language/texts';
import { may } from '../../../session/permissions';
import type { Note } from '../note';
import { describeFailure } from '../text/failure-reasons';
import { roughly, type RunProgress } from '../text/run-progress';
import { Notice, toastError } from './notice';
import './note-states.css';

/** What a recording shows instead of its text. */
export function Processing({ recording: { duration_seconds: duration }, progress }: ProcessingProps) {
  const { share = null, secondsLeft = null } = progress ?? {};
  return (
    <section class="card note-state" aria-labelledby="processing-title">
      <h2 id="processing-title">{t('Transcribing…')}</h2>
      <p class="muted">
        {progress ? doneSoFar(progress.end, duration) : queued(duration)}{' '}
        {secondsLeft !== null && `${t('Done in {time}.', { time: roughly(secondsLeft) })} `}
        {t('The transcript appears here when it is ready. You can leave this page.')}
      </p>
      <progress aria-label={t('Transcribing')} {...(share !== null && { value: share })} />
      {progress && progress.text !== '' && (
        <p class="note-so-far" dir="auto">
          {progress.text} …
        </p>
      )}
    </section>
  );
}

function doneSoFar(end: number, duration: number): string {
  const done = formatDuration(end);
  return duration > 0
    ? t('{done} of {length} is transcribed.', { done, length: formatDuration(duration) })
    : t('{done} is transcribed.', { done });
}

const queued = (duration: number): string =>
  duration > 0
    ? t('{length} of audio is queued or being transcribed.', { length: formatDuration(duration) })
    : t('The audio is queued or being transcribed.');

interface ProcessingProps {
  recording: Recording;
  progress: RunProgress | null;
}

export function FailedNote({ note, onAgain }: { note: Note; onAgain: () => void }) {
  const { what, advice } = describeFailure(note.failure.value ?? '');
  const sending = useSignal(false);
  const retry = async () => {
    sending.value = true;
    await note.retry().catch((error: unknown) => toastError(t('The recording could not be retried.'), error));
    sending.value = false;
  };
  return (
    <section class="card note-state is-failed" aria-labelledby="failed-title">
      <h2 id="failed-title">
        <Icon name="alert" />
        {t('Transcription failed')}
      </h2>
      <p class="note-state-what" dir="auto">
        {what}
      </p>
      <p class="muted">{advice}</p>
      {may('recordings:write') && (
        <div class="actions">
          <button type="button" class="button is-primary" disabled={sending.value} onClick={() => void retry()}>
            <Icon name="retry" />
            {t('Try again')}
          </button>
          <button type="button" class="button" onClick={onAgain}>
            {t('Try other settings…')}
          </button>
        </div>
      )}
    </section>
  );
}

export function NoSpeech({ onAgain }: { onAgain: () => void }) {
  return (
    <div class="card">
      <Empty
        icon="mic"
        title={t('No speech in this recording')}
        hint={t('If someone does speak, transcribe it again and choose their language.')}
        action={
          may('recordings:write') && (
            <button type="button" class="button" onClick={onAgain}>
              {t('Transcribe again…')}
            </button>
          )
        }
      />
    </div>
  );
}

export function Missing({ isDeleted }: { isDeleted: boolean }) {
  return (
    <div class="card">
      <Empty
        icon="trash"
        title={isDeleted ? t('This recording was deleted') : t('Recording not found')}
        hint={
          isDeleted
            ? t('Its audio and transcript are gone.')
            : t('It may have been deleted, the link may be incomplete, or it belongs to another account.')
        }
        action={
          <Link class="button" href="/">
            {t('All recordings')}
          </Link>
        }
      />
    </div>
  );
}

/** What goes on beside the text: another run of the engine, or how it failed. */
export function AgainNotice({ note }: { note: Note }) {
  const again = note.again.value;
  return (
    <div role="status">
      {again.state === 'pending' && (
        <Notice icon="clock">
          <p>{t('Transcribing again. The current transcript stays until the new one is ready.')}</p>
          <progress aria-label={t('Transcribing again')} />
        </Notice>
      )}
      {again.state === 'failed' && <AgainFailed note={note} reason={again.reason} />}
    </div>
  );
}

function AgainFailed({ note, reason }: { note: Note; reason: string }) {
  const { what, advice } = describeFailure(reason);
  return (
    <Notice tone="is-warn" icon="alert">
      <p>
        {t('Transcribing again failed. The transcript has not changed.')} <bdi>{what}</bdi> {advice}
      </p>
      <button type="button" class="button" onClick={() => note.endAgain({ state: 'none' })}>
        {t('Dismiss')}
      </button>
    </Notice>
  );
}
