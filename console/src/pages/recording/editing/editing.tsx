import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Transcription } from 'vnotes';

import { formatAge } from '../../../format/date';
import { randomId } from '../../../uploads/store/upload-item';
import type { Note } from '../note';
import { Notice } from '../panels/notice';
import type { Reading } from '../transcript/reading';
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
}

/** The editor while it is open, else a draft that waits for its owner. */
export function Editing({ note, transcription, reading, original, isEditing }: EditingProps) {
  const draft = useDraft(note.id);
  const correction = useRef<Correction | null>(null);
  if (!isEditing.value) {
    correction.current = null;
    return draft.value ? <DraftNotice draft={draft} onContinue={() => (isEditing.value = true)} /> : null;
  }
  // The one that was begun goes on when somebody else saves meanwhile.
  correction.current ??= new Correction(
    note,
    editableText(transcription, reading, original),
    transcription,
    draft.value,
  );
  return (
    <OpenEditor
      note={note}
      correction={correction.current}
      playback={reading.playback}
      original={original}
      transcription={transcription}
      onClose={(text) => {
        draft.value = null;
        isEditing.value = false;
        if (text === undefined) return;
        draft.value = { id: randomId(), recordingId: note.id, text, etag: transcription.etag, savedAt: Date.now() };
        isEditing.value = true;
      }}
    />
  );
}

interface OpenEditorProps {
  note: Note;
  correction: Correction;
  playback: Reading['playback'];
  original: Original;
  transcription: Transcription;
  onClose: (text?: string) => void;
}

function OpenEditor({ correction, playback, original, transcription, onClose }: OpenEditorProps) {
  const isCorrected = transcription.version === 'corrected';
  useEffect(() => {
    if (isCorrected) void original.load();
  }, [isCorrected]);
  const heard = isCorrected ? (original.value.value?.text ?? '…') : transcription.text;
  return <Editor correction={correction} playback={playback} heard={heard} onClose={onClose} />;
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
      <p>You began to correct this text {formatAge(new Date(savedAt).toISOString())}, and did not save it.</p>
      <div class="actions">
        <button type="button" class="button is-primary" onClick={onContinue}>
          Continue
        </button>
        <button type="button" class="button" onClick={() => void discard()}>
          Discard the draft
        </button>
      </div>
    </Notice>
  );
}
