import type { ChunkTranscript } from '../engines/transcription-engine.js';

/** Without NUL and lone surrogates, which Postgres refuses in text and in jsonb. */
export function storable(transcript: ChunkTranscript): ChunkTranscript {
  return {
    ...transcript,
    text: clean(transcript.text),
    language: clean(transcript.language),
    words: transcript.words.map((word) => ({ ...word, word: clean(word.word) })),
  };
}

const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed();
