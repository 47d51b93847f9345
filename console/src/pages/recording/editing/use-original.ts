import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Transcription } from 'vnotes';

import { t } from '../../../language/texts';
import type { Note } from '../note';
import { toastError } from '../panels/notice';

/** Original transcript, of a text that was corrected. It is asked for when somebody wants to see it. */
export interface Original {
  value: Signal<Transcription | null>;
  isShown: Signal<boolean>;
  /** @param isQuiet nobody waits for it */
  load: (options?: { isQuiet?: boolean }) => Promise<Transcription | null>;
  show: () => Promise<void>;
  hide: () => void;
}

export function useOriginal(note: Note, transcription: Transcription): Original {
  const original = useMemo(() => originalOf(note), [note]);
  useEffect(() => {
    // Another run of the engine may have heard something else.
    original.value.value = null;
    original.hide();
  }, [original, transcription]);
  return original;
}

function originalOf(note: Note): Original {
  const value = signal<Transcription | null>(null);
  const isShown = signal(false);
  const load: Original['load'] = async ({ isQuiet = false } = {}) => {
    try {
      value.value ??= await note.client.recordings.transcription(note.id, { version: 'original' });
    } catch (error) {
      if (!isQuiet) toastError(t('The original could not be loaded.'), error);
    }
    return value.value;
  };
  const show = async () => {
    if (await load()) isShown.value = true;
  };
  return { value, isShown, load, show, hide: () => (isShown.value = false) };
}
