import { useSignal } from '@preact/signals';
import type { Recording } from 'vnotes';
import { Link } from 'wouter-preact';

import { Empty } from '../../../components/empty';
import { Icon } from '../../../components/icon';
import { formatDuration } from '../../../format/duration';
import { may } from '../../../session/permissions';
import type { Note } from '../note';
import { describeFailure } from '../text/failure-reasons';
import { roughly, type RunProgress } from '../text/run-progress';
import { Notice, toastError } from './notice';
import './note-states.css';

/** What a recording shows instead of its text. */
export function Processing({ recording: { duration_seconds: duration }, progress }: ProcessingProps) {
  const { share = null, secondsLeft = null } = progress ?? {};
  const length = duration > 0 ? `${formatDuration(duration)} of audio` : 'The audio';
  return (
    <section class="card note-state" aria-labelledby="processing-title">
      <h2 id="processing-title">Transcribing…</h2>
      <p class="muted">
        {progress
          ? `${formatDuration(progress.end)}${duration > 0 ? ` of ${formatDuration(duration)}` : ''} is transcribed. `
          : `${length} is queued or being transcribed. `}
        {secondsLeft !== null && `Done in ${roughly(secondsLeft)}. `}
        The transcript appears here when it is ready. You can leave this page.
      </p>
      <progress aria-label="Transcribing" {...(share !== null && { value: share })} />
      {progress && progress.text !== '' && (
        <p class="note-so-far" dir="auto">
          {progress.text} …
        </p>
      )}
    </section>
  );
}

interface ProcessingProps {
  recording: Recording;
  progress: RunProgress | null;
}

export function FailedNote({ note, onAgain }: { note: Note; onAgain: () => void }) {
  const { what, advice } = describeFailure(note.failure.value ?? '');
  const sending = useSignal(false);
  const retry = async () => {
    sending.value = true;
    await note.retry().catch((error: unknown) => toastError('The recording could not be retried.', error));
    sending.value = false;
  };
  return (
    <section class="card note-state is-failed" aria-labelledby="failed-title">
      <h2 id="failed-title">
        <Icon name="alert" />
        Transcription failed
      </h2>
      <p class="note-state-what" dir="auto">
        {what}
      </p>
      <p class="muted">{advice}</p>
      {may('recordings:write') && (
        <div class="actions">
          <button type="button" class="button is-primary" disabled={sending.value} onClick={() => void retry()}>
            <Icon name="retry" />
            Try again
          </button>
          <button type="button" class="button" onClick={onAgain}>
            Try other settings…
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
        title="No speech in this recording"
        hint="If someone does speak, transcribe it again and choose their language."
        action={
          may('recordings:write') && (
            <button type="button" class="button" onClick={onAgain}>
              Transcribe again…
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
        title={isDeleted ? 'This recording was deleted' : 'Recording not found'}
        hint={
          isDeleted
            ? 'Its audio and transcript are gone.'
            : 'It may have been deleted, the link may be incomplete, or it belongs to another account.'
        }
        action={
          <Link class="button" href="/">
            All recordings
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
          <p>Transcribing again. The current transcript stays until the new one is ready.</p>
          <progress aria-label="Transcribing again" />
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
        Transcribing again failed. The transcript has not changed. <bdi>{what}</bdi> {advice}
      </p>
      <button type="button" class="button" onClick={() => note.endAgain({ state: 'none' })}>
        Dismiss
      </button>
    </Notice>
  );
}
