import { useEffect, useMemo } from 'preact/hooks';
import { ApiError, type VoiceNotes } from 'vnotes';

import { Failed } from '../../components/failed';
import { Loading } from '../../components/loading';
import { t } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { liveState, onLiveEvent } from '../../session/live-events';
import { client } from '../../session/session';
import { Note } from './note';
import { NoteView } from './note-view';
import { Missing } from './panels/note-states';

/** Between two looks at a recording that is under way, while no events arrive. */
const POLL_MS = 10_000;
/** Of a long one, whose parts no event tells: a small plan has ten requests a minute for all that a person does. */
const PROGRESS_MS = 20_000;
/** One that is no longer has no parts. */
const SHORT_SECONDS = 60;
const back = () => ({ href: '/', label: t('Recordings') });

export default function RecordingPage({ params: { id } }: { params: { id: string } }) {
  const api = client.value as VoiceNotes;
  const note = useMemo(() => new Note(api, id), [api, id]);
  useNote(note);
  const error = note.error.value;
  const isMissing = note.isDeleted.value || (error instanceof ApiError && error.status === 404);
  if (isMissing || (error !== null && !note.recording.value)) {
    return (
      <>
        <PageHeader title={t('Recording')} back={back()} />
        {isMissing ? (
          <Missing isDeleted={note.isDeleted.value} />
        ) : (
          <div class="card">
            <Failed error={error} onRetry={() => void note.load()} />
          </div>
        )}
      </>
    );
  }
  if (!note.recording.value) return <Loading label={t('Loading the recording…')} />;
  return <NoteView key={id} note={note} />;
}

/** Loads it, and keeps it up to date while it is shown. */
function useNote(note: Note): void {
  useEffect(() => {
    void note.load();
    const stop = onLiveEvent((event) => note.heed(event));
    return () => {
      stop();
      note.dispose();
    };
  }, [note]);
  const mayBeOld = note.mayBeOld.value;
  useEffect(() => {
    if (mayBeOld) void note.load();
  }, [note, mayBeOld]);
  const isLive = liveState.value === 'live';
  const { status, duration_seconds: duration = 0 } = note.recording.value ?? {};
  const isLong = status === 'processing' && !(duration > 0 && duration <= SHORT_SECONDS);
  const everyMs = note.isUnderWay.value && !isLive ? POLL_MS : isLong ? PROGRESS_MS : null;
  useEffect(() => {
    if (everyMs === null) return undefined;
    const timer = setInterval(() => void note.load(), everyMs);
    return () => clearInterval(timer);
  }, [note, everyMs]);
}
