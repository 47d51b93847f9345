import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Transcription } from 'vnotes';

import { t } from '../../../language/texts';
import { toast } from '../../../components/toast';
import { onceMoved } from '../../../layout/scrolling';
import { randomId } from '../../../uploads/store/upload-item';
import type { Note } from '../note';
import type { Block } from '../text/blocks';
import type { Reading } from '../transcript/reading';
import { Correction } from './correction';
import { type Draft, readDraft } from './drafts';
import type { Paragraph } from './edited-text';
import type { PlaceInTime } from './editor';
import type { Original } from './use-original';

interface EditingOptions {
  note: Note;
  transcription: Transcription;
  original: Original;
  reading: Reading;
  /** The paragraphs of another text of this recording. */
  blocksOf: (text: string) => Block[];
}

export interface Editing {
  /** The correction that is open. It goes on when somebody else saves meanwhile. */
  begun: Signal<Correction | null>;
  /** One that was left, and waits for its owner. */
  draft: Signal<Draft | null>;
  place: Signal<PlaceInTime>;
  /** @param word that the person pointed at; else they go on where they read or listen */
  open: (word?: number) => void;
  save: () => Promise<void>;
  /** @param discarded what is to be edited again */
  close: (discarded?: Correction) => void;
}

/** The correction of a text: where it is opened, and where the person goes on reading after it. */
export function useEditing({ note, transcription, original, reading, blocksOf }: EditingOptions): Editing {
  const draft = useDraft(note.id);
  const begun = useSignal<Correction | null>(null);
  const place = useSignal<PlaceInTime>({ time: 0, isWord: false, heights: [] });
  const hasLeft = useSignal(false);
  const begin = (at: Omit<PlaceInTime, 'heights'>, discarded?: readonly Paragraph[]) => {
    const left = draft.peek();
    const other = left?.text ?? (original.isShown.peek() ? transcription.text : null);
    const blocks = discarded ?? (other === null ? reading.blocks : blocksOf(other));
    const heights = heightsOf(reading);
    original.hide();
    place.value = { ...at, heights: blocks.map(({ text }) => heights.get(text)) };
    begun.value = new Correction(note, blocks, transcription, left);
    // Its draft went with it.
    if (discarded) begun.value.change();
  };
  const close: Editing['close'] = (discarded) => {
    if (begun.peek()) {
      draft.value = null;
      begun.value = null;
      hasLeft.value = true;
    }
    if (!discarded) return;
    const { text, edited } = discarded;
    const { etag } = transcription;
    draft.value = { id: randomId(), recordingId: note.id, text: text.peek(), etag, savedAt: Date.now() };
    begin(place.peek(), edited.paragraphs);
  };
  const save = async () => {
    const correction = begun.peek();
    if (!correction || correction.isTooLong.peek() || correction.saving.peek()) return;
    if (!(await correction.save())) return;
    toast(t('Correction saved.'));
    close();
  };
  useLeftPlace(hasLeft, begun, place, reading);
  const open = (word?: number) => {
    const time = word === undefined ? reading.placeInTime() : (reading.words[word]?.start ?? 0);
    begin({ time, isWord: word !== undefined });
  };
  return { begun, draft, place, open, save, close };
}

/** The heights of the paragraphs on the page, by their texts. */
function heightsOf({ blocks, layer }: Reading): Map<string, number | undefined> {
  const heights = layer.measure();
  return new Map(blocks.map(({ text }, index) => [text, heights[index]]));
}

/** The person goes on reading where they corrected. */
function useLeftPlace(
  hasLeft: Signal<boolean>,
  begun: Signal<Correction | null>,
  place: Signal<PlaceInTime>,
  reading: Reading,
): void {
  const isOpen = begun.value !== null;
  useEffect(() => {
    if (isOpen || !hasLeft.value) return undefined;
    document.querySelector<HTMLElement>('[data-focus="correct"]')?.focus({ preventScroll: true });
    return onceMoved(() => (hasLeft.value = false));
  }, [isOpen, hasLeft.value]);
  // Again when the text is drawn anew, as when the original has come that tells which words are sure.
  useEffect(() => {
    if (!isOpen && hasLeft.value) reading.show(place.peek().time);
  }, [isOpen, hasLeft.value, reading]);
}

function useDraft(recordingId: string): Signal<Draft | null> {
  const draft = useSignal<Draft | null>(null);
  useEffect(() => {
    void readDraft(recordingId).then((found) => (draft.value = found));
  }, [recordingId]);
  return draft;
}
