import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Recording, Transcription } from 'vnotes';

import { deleteWithUndo } from '../../bulk/deletions';
import { Badge } from '../../components/badge';
import { Failed } from '../../components/failed';
import { Icon } from '../../components/icon';
import { formatDate } from '../../format/date';
import { titleOf } from '../../format/recording-title';
import { t } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { navigate } from '../../routing/hash-location';
import { may, reasonFor } from '../../session/permissions';
import type { Note } from './note';
import { AgainDialog } from './panels/again-dialog';
import { Details } from './panels/details';
import { EditDialog } from './panels/edit-dialog';
import { DownloadMenu } from './panels/download-menu';
import { Menu, MenuItem } from './panels/menu';
import { ShareDialog } from './panels/share-dialog';
import { AgainNotice, FailedNote, NoSpeech, Processing } from './panels/note-states';
import { Playback } from './player/playback';
import { PlayerBar } from './player/player-bar';
import { TextView } from './text-view';
import './note-view.css';

const back = () => ({ href: '/', label: t('Recordings') });

/** One recording: its player, its text or why there is none, and what is known of it. */
export function NoteView({ note }: { note: Note }) {
  const recording = note.recording.value as Recording;
  const isAsking = useSignal(false);
  const isEditing = useSignal(false);
  const isSharing = useSignal(false);
  const playback = useMemo(
    () => new Playback((signal) => note.client.recordings.audioUrl(note.id, { signal }), recording),
    [note],
  );
  useEffect(() => () => playback.dispose(), [playback]);
  const ask = () => (isAsking.value = true);
  return (
    <div class="note">
      <PageHeader
        title={titleOf(recording)}
        back={back()}
        hint={<Hint recording={recording} />}
        actions={
          <Actions
            note={note}
            onAgain={ask}
            onEdit={() => (isEditing.value = true)}
            onShare={() => (isSharing.value = true)}
          />
        }
      />
      <div class="note-columns">
        <div class="note-main">
          {note.error.value !== null && <Failed error={note.error.value} onRetry={() => void note.load()} />}
          <AgainNotice note={note} />
          <Content note={note} playback={playback} onAgain={ask} />
        </div>
        <Details note={note} />
      </div>
      <EditDialog note={note} open={isEditing.value} onClose={() => (isEditing.value = false)} />
      <ShareDialog id={note.id} open={isSharing.value} onClose={() => (isSharing.value = false)} />
      <AgainDialog note={note} open={isAsking.value} onClose={() => (isAsking.value = false)} />
    </div>
  );
}

interface ContentProps {
  note: Note;
  playback: Playback;
  onAgain: () => void;
}

function Content({ note, playback, onAgain }: ContentProps) {
  const recording = note.recording.value as Recording;
  const transcription = note.transcription.value;
  if (transcription && hasText(recording, transcription)) {
    return <TextView note={note} transcription={transcription} playback={playback} />;
  }
  return (
    <>
      <PlayerBar playback={playback} peaks={note.peaks.value} />
      {recording.status === 'processing' && <Processing recording={recording} progress={note.progress.value} />}
      {recording.status === 'failed' && <FailedNote note={note} onAgain={onAgain} />}
      {recording.status === 'transcribed' && <NoSpeech onAgain={onAgain} />}
    </>
  );
}

/** A text that a person has emptied is one too. */
function hasText({ features }: Recording, transcription: Transcription | null): boolean {
  if (!transcription) return false;
  const { text, version } = transcription;
  return text.trim() !== '' || version === 'corrected' || features?.no_speech === false;
}

function Hint({ recording }: { recording: Recording }) {
  return (
    <span class="note-hint">
      <time dateTime={`${recording.created_at}Z`}>{formatDate(recording.created_at)}</time>
      {recording.status === 'processing' && <Badge tone="busy">{t('Processing')}</Badge>}
      {recording.status === 'failed' && <Badge tone="bad">{t('Failed')}</Badge>}
      {!may('recordings:write') && (
        <span class="note-limited">{reasonFor('recordings:write', 'correct or delete recordings')}</span>
      )}
    </span>
  );
}

interface ActionsProps extends Pick<ContentProps, 'note' | 'onAgain'> {
  onEdit: () => void;
  onShare: () => void;
}

function Actions({ note, onAgain, onEdit, onShare }: ActionsProps) {
  const isUnderWay = note.recording.value?.status === 'processing' || note.again.value.state === 'pending';
  const isWritable = may('recordings:write');
  // With a text it is beside that.
  const isShown = hasText(note.recording.value as Recording, note.transcription.value);
  return (
    <>
      {!isShown && <DownloadMenu note={note} version="current" />}
      {isWritable && (
        <button type="button" class="button" onClick={onShare}>
          <Icon name="external" />
          <span>{t('Share…')}</span>
        </button>
      )}
      <Menu label={t('More')} icon="more" iconOnly>
        {isWritable && (
          <MenuItem icon="edit" onClick={onEdit}>
            {t('Title and tags…')}
          </MenuItem>
        )}
        {!isUnderWay && isWritable && (
          <MenuItem icon="retry" onClick={onAgain}>
            {t('Transcribe again…')}
          </MenuItem>
        )}
        <MenuItem icon="info" onClick={() => setTimeout(showDetails)}>
          {t('Details')}
        </MenuItem>
        {isWritable && (
          <MenuItem icon="trash" isDanger onClick={() => remove(note.recording.peek() as Recording)}>
            {t('Delete')}
          </MenuItem>
        )}
      </Menu>
    </>
  );
}

/** The list is where the deletion can be undone and is seen. */
function remove(recording: Recording): void {
  deleteWithUndo([recording.id], [titleOf(recording)]);
  navigate('/');
}

/** On a small screen they stand after a long text. */
function showDetails(): void {
  const details = document.querySelector<HTMLDetailsElement>('.details-column > .details');
  if (!details) return;
  details.open = true;
  details.scrollIntoView({ block: 'start' });
  details.querySelector('summary')?.focus({ preventScroll: true });
}
