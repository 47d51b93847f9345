import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Transcription } from 'vnotes';

import { formatAge } from '../../../format/date';
import { randomId } from '../../../uploads/store/upload-item';
import { may } from '../../../session/permissions';
import type { Note } from '../note';
import { Notice } from '../panels/notice';
import { heardWords } from '../text/words';
import type { Reading } from '../transcript/reading';
import { CaretTimes } from './caret-times';
import { Correction } from './correction';
import { type Draft, readDraft, removeDraft } from './drafts';
import { Editor } from './editor';
import type { Original } from './use-original';

interface EditingProps {
  note: Note;
  transcription: Transcription;
  reading: Reading;
  original: Original;
  isEditing: Signal<boolean>;
  /** Where in the recording the caret is to be at first. */
  openedAt: RefObject<number>;
  onEdit: () => void;
  /** @param time at which what the caret was at is spoken */
  onClose: (time: number) => void;
}

/** An editor, and where in the recording it was opened. */
interface Begun {
  correction: Correction;
  times: CaretTimes;
  openedAt: number;
}

/** The editor while it is open, else a draft that waits for its owner. */
export function Editing({
  note,
  transcription,
  reading,
  original,
  isEditing,
  openedAt,
  onEdit,
  onClose,
}: EditingProps) {
  const draft = useDraft(note.id);
  const begun = useRef<Begun | null>(null);
  if (!isEditing.value) {
    begun.current = null;
    return draft.value && may('recordings:write') ? <DraftNotice draft={draft} onContinue={onEdit} /> : null;
  }
  // The one that was begun goes on when somebody else saves meanwhile.
  begun.current ??= begin(note, transcription, reading, original, draft.value, openedAt.current ?? 0);
  return (
    <OpenEditor
      note={note}
      begun={begun.current}
      playback={reading.playback}
      original={original}
      transcription={transcription}
      onClose={(time, text) => {
        draft.value = null;
        isEditing.value = false;
        openedAt.current = time;
        onClose(time);
        if (text === undefined) return;
        draft.value = { id: randomId(), recordingId: note.id, text, etag: transcription.etag, savedAt: Date.now() };
        isEditing.value = true;
      }}
    />
  );
}

interface OpenEditorProps {
  note: Note;
  begun: Begun;
  playback: Reading['playback'];
  original: Original;
  transcription: Transcription;
  onClose: (time: number, text?: string) => void;
}

function OpenEditor({ begun, playback, original, transcription, onClose }: OpenEditorProps) {
  const isCorrected = transcription.version === 'corrected';
  useEffect(() => {
    if (isCorrected) void original.load();
  }, [isCorrected]);
  const heard = isCorrected ? (original.value.value?.text ?? '…') : transcription.text;
  return <Editor {...begun} playback={playback} heard={heard} onClose={onClose} />;
}

function begin(
  note: Note,
  transcription: Transcription,
  reading: Reading,
  original: Original,
  draft: Draft | null,
  openedAt: number,
): Begun {
  const text = editableText(transcription, reading, original);
  const times = new CaretTimes(text, heardWords(transcription.words), reading.playback.duration.peek());
  return { correction: new Correction(note, text, transcription, draft), times, openedAt };
}

/** The text with an empty line between paragraphs. The sides of a call stay in the order in which the service has them. */
function editableText({ text }: Transcription, reading: Reading, original: Original): string {
  const hasChannels = reading.blocks.some(({ channel }) => channel !== null);
  if (hasChannels || original.isShown.peek()) return text;
  return reading.blocks.map((block) => block.text).join('\n\n');
}

function useDraft(recordingId: string): Signal<Draft | null> {
  const draft = useSignal<Draft | null>(null);
  useEffect(() => {
    void readDraft(recordingId).then((found) => (draft.value = found));
  }, [recordingId]);
  return draft;
}

function DraftNotice({ draft, onContinue }: { draft: Signal<Draft | null>; onContinue: () => void }) {
  const { id, recordingId, savedAt } = draft.value as Draft;
  const discard = async () => {
    await removeDraft(id);
    // Another tab may have left one, too.
    draft.value = await readDraft(recordingId);
  };
  return (
    <Notice icon="edit">
      <p>You have an unsaved correction from {formatAge(new Date(savedAt).toISOString())}.</p>
      <div class="actions">
        <button type="button" class="button is-primary" onClick={onContinue}>
          Continue
        </button>
        <button type="button" class="button" onClick={() => void discard()}>
          Discard draft
        </button>
      </div>
    </Notice>
  );
}
