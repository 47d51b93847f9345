import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { Failed } from '../../../components/failed';
import { toast } from '../../../components/toast';
import type { Playback } from '../player/playback';
import type { CaretTimes } from './caret-times';
import { Conflict } from './conflict';
import { type Correction, LONGEST_TEXT } from './correction';
import { LeaveDialog } from './leave-dialog';
import './editor.css';

interface EditorProps {
  correction: Correction;
  times: CaretTimes;
  /** Where in the recording the caret is to be at first. */
  openedAt: number;
  playback: Playback;
  /** Original transcript. */
  heard: string;
  /**
   * @param time of what the caret was at
   * @param text that was discarded and is to be edited again
   */
  onClose: (time: number, text?: string) => void;
}

/** Corrects the text. The audio can be played meanwhile, and what was typed is kept as a draft. */
export function Editor({ correction, times, openedAt, playback, heard, onClose }: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const timeOfCaret = usePlayFromCaret(field, correction, times, openedAt, playback);
  const close = (text?: string) => onClose(timeOfCaret(), text);
  const save = async () => {
    if (correction.isTooLong || correction.saving.peek()) return;
    if (!(await correction.save())) return;
    toast('Correction saved.');
    close();
  };
  const press = (event: KeyboardEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    if (event.key === 'Enter' || event.key === 's') void save();
    else if (event.key === ' ') void playback.toggle();
    else return;
    event.preventDefault();
  };
  if (correction.conflict.value) return <Conflict correction={correction} onClose={close} />;
  return (
    <section class="editor" aria-label="Correct the transcript">
      <TextField field={field} correction={correction} onPress={press} />
      {correction.error.value !== null && <Failed error={correction.error.value} onRetry={() => void save()} />}
      <EditorActions correction={correction} onSave={() => void save()} onClose={close} />
      <details class="editor-original">
        <summary>Original transcript</summary>
        <p dir="auto">{heard}</p>
      </details>
      <LeaveDialog correction={correction} />
    </section>
  );
}

/** Puts the caret where the person listens or reads, and plays from wherever it is moved to. @returns its time */
function usePlayFromCaret(
  field: RefObject<HTMLTextAreaElement | null>,
  correction: Correction,
  times: CaretTimes,
  openedAt: number,
  playback: Playback,
): () => number {
  const last = useRef({ caret: 0, time: openedAt }).current;
  const timeOfCaret = () => {
    const caret = field.current?.selectionStart;
    return caret === undefined ? last.time : times.timeAt(caret, correction.text.peek());
  };
  const isOpen = correction.conflict.value === null;
  useLayoutEffect(() => {
    if (!isOpen || !field.current) return undefined;
    const caret = times.caretAt(last.time, correction.text.peek());
    last.caret = playback.playing.peek() ? caret : -1;
    showCaret(field.current, caret);
    playback.origin = () => {
      const { selectionStart = last.caret } = field.current ?? {};
      const isMoved = selectionStart !== last.caret;
      [last.caret, last.time] = [selectionStart, timeOfCaret()];
      return isMoved ? last.time : null;
    };
    return () => {
      last.time = timeOfCaret();
      playback.origin = () => null;
    };
  }, [isOpen]);
  return timeOfCaret;
}

/** No browser tells where a caret is: the height of the text before it says how far down. */
function showCaret(field: HTMLTextAreaElement, caret: number): void {
  field.focus({ preventScroll: true });
  field.setSelectionRange(caret, caret);
  const before = field.cloneNode() as HTMLTextAreaElement;
  before.value = field.value.slice(0, caret);
  before.style.minHeight = '0';
  before.removeAttribute('id');
  field.after(before);
  const height = before.scrollHeight;
  before.remove();
  field.scrollTop = Math.max(0, height - field.clientHeight / 2);
  field.scrollIntoView({ block: 'nearest' });
}

interface TextFieldProps {
  field: RefObject<HTMLTextAreaElement | null>;
  correction: Correction;
  onPress: (event: KeyboardEvent) => void;
}

function TextField({ field, correction, onPress }: TextFieldProps) {
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
          ? `The text can have at most ${LONGEST_TEXT.toLocaleString('en')} characters.`
          : 'Leave an empty line between paragraphs. Ctrl+Space plays from the cursor or pauses, Ctrl+Enter saves.'}
      </p>
    </div>
  );
}

function EditorActions({ correction, onSave, onClose }: EditorActionsProps) {
  const discard = async () => {
    const [text, wasChanged] = [correction.text.peek(), correction.isChanged];
    await correction.discard();
    onClose();
    if (wasChanged) toast('Correction discarded.', { action: { label: 'Undo', run: () => onClose(text) } });
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
        {isSaving ? 'Saving…' : 'Save correction'}
      </button>
      <button type="button" class="button" onClick={() => void discard()}>
        Cancel
      </button>
      <p class="editor-kept" role="status">
        {correction.isKept.value
          ? 'Your changes are kept on this device until you save them.'
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
