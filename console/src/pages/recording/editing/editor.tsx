import { useLayoutEffect, useRef } from 'preact/hooks';

import { Failed } from '../../../components/failed';
import { toast } from '../../../components/toast';
import type { Playback } from '../player/playback';
import { Conflict } from './conflict';
import { type Correction, LONGEST_TEXT } from './correction';
import { LeaveDialog } from './leave-dialog';
import './editor.css';

interface EditorProps {
  correction: Correction;
  playback: Playback;
  /** What the engine heard. */
  heard: string;
  /** @param text that was discarded and is to be edited again */
  onClose: (text?: string) => void;
}

/** Corrects the text. The audio can be played meanwhile, and what was typed is kept as a draft. */
export function Editor({ correction, playback, heard, onClose }: EditorProps) {
  const save = async () => {
    if (correction.isTooLong || correction.saving.peek()) return;
    if (!(await correction.save())) return;
    toast('The correction is saved.');
    onClose();
  };
  const press = (event: KeyboardEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    if (event.key === 'Enter' || event.key === 's') void save();
    else if (event.key === ' ') void playback.toggle();
    else return;
    event.preventDefault();
  };
  if (correction.conflict.value) return <Conflict correction={correction} onClose={onClose} />;
  return (
    <section class="editor" aria-label="Correct the text">
      <TextField correction={correction} onPress={press} />
      {correction.error.value !== null && <Failed error={correction.error.value} onRetry={() => void save()} />}
      <EditorActions correction={correction} onSave={() => void save()} onClose={onClose} />
      <details class="editor-original">
        <summary>What the engine heard</summary>
        <p dir="auto">{heard}</p>
      </details>
      <LeaveDialog correction={correction} />
    </section>
  );
}

function TextField({ correction, onPress }: { correction: Correction; onPress: (event: KeyboardEvent) => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <div class="field">
      <label for="correction">Corrected text</label>
      <textarea
        ref={field}
        id="correction"
        class="editor-text"
        dir="auto"
        spellcheck
        aria-describedby="correction-hint"
        aria-invalid={correction.isTooLong}
        value={correction.text.value}
        onInput={(event) => correction.change(event.currentTarget.value)}
        onKeyDown={onPress}
      />
      <p id="correction-hint" class={correction.isTooLong ? 'error' : 'hint'}>
        {correction.isTooLong
          ? `The text may have ${LONGEST_TEXT.toLocaleString('en')} characters at most.`
          : 'An empty line begins a paragraph. Ctrl + Space plays and pauses, Ctrl + Enter saves.'}
      </p>
    </div>
  );
}

function EditorActions({ correction, onSave, onClose }: EditorActionsProps) {
  const discard = async () => {
    const [text, wasChanged] = [correction.text.peek(), correction.isChanged];
    await correction.discard();
    onClose();
    if (wasChanged) toast('The correction was discarded.', { action: { label: 'Undo', run: () => onClose(text) } });
  };
  const isSaving = correction.saving.value;
  return (
    <div class="editor-actions">
      <button
        type="button"
        class="button is-primary"
        disabled={isSaving || correction.isTooLong}
        aria-busy={isSaving}
        onClick={onSave}
      >
        {isSaving ? 'Saving…' : 'Save the correction'}
      </button>
      <button type="button" class="button" onClick={() => void discard()}>
        Cancel
      </button>
      <p class="editor-kept" role="status">
        {correction.isKept.value
          ? 'What you type is kept on this device until it is saved.'
          : 'This browser cannot keep a draft. Save before you leave.'}
      </p>
    </div>
  );
}

interface EditorActionsProps {
  correction: Correction;
  onSave: () => void;
  /** @param text that was discarded and is to be edited again */
  onClose: (text?: string) => void;
}
