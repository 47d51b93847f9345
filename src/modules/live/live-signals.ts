import type { TranscriptWord } from '../transcriptions/engines/transcription-engine.js';

/** A word as it is signalled. Times in seconds from the start of the recording. */
export type LiveWord = Pick<TranscriptWord, 'word' | 'start' | 'end'>;

/**
 * What is recognised in a live recording while it goes on. An item is an utterance; they are numbered from 0. Times are
 * seconds from the start of the recording.
 */
export type LiveSignal =
  | { type: 'speech_started'; item: number; at: number }
  | { type: 'speech_stopped'; item: number; at: number }
  /** Words that stay as they are. `text` is added to that of the item, which is `offset` long so far. */
  | { type: 'delta'; item: number; offset: number; text: string; words: LiveWord[] }
  /** The whole text of the item, which is stored; it may differ from its deltas. */
  | { type: 'final'; item: number; text: string; start: number; end: number }
  /** Nothing follows. */
  | { type: 'finished' }
  /** Why words are missing, or there are none. The recording goes on. */
  | { type: 'problem'; message: string };
