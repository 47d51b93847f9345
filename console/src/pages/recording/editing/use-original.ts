import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Transcription } from 'vnotes';

import type { Note } from '../note';
import { toastError } from '../panels/notice';

/** What the engine heard, of a text that was corrected. It is asked for when somebody wants to see it. */
export interface Original {
  value: Signal<Transcription | null>;
  isShown: Signal<boolean>;
  load: () => Promise<Transcription | null>;
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
  const load = async (): Promise<Transcription | null> => {
    try {
      value.value ??= await note.client.recordings.transcription(note.id, { version: 'original' });
    } catch (error) {
      toastError('What the engine heard could not be loaded.', error);
    }
    return value.value;
  };
  const show = async () => {
    if (await load()) isShown.value = true;
  };
  return { value, isShown, load, show, hide: () => (isShown.value = false) };
}
