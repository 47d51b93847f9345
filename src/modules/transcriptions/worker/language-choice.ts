import type { ChunkTranscript, TranscriptionEngine } from '../engines/transcription-engine.js';
import type { EngineRuntime } from '../engines/engine-runtimes.service.js';
import { confidenceOf } from './join-transcripts.js';

/** Each chunk is in one language: shorter ones, so that a note may change between two (D69). As long as Whisper's window. */
const MAX_SECONDS = 30;

/** Longest chunk of audio in one of these languages; null: in a language that is not looked for in a list. */
export const chunkSeconds = ({ maxChunkSeconds }: EngineRuntime, candidates: readonly string[] | null): number =>
  candidates ? Math.min(maxChunkSeconds, MAX_SECONDS) : maxChunkSeconds;

/**
 * Transcribes a chunk that is in one of several languages. What the engine detects is taken if it is one of them. Otherwise
 * the chunk is transcribed in each, and the surest is kept, the first of equals.
 * @param recognise transcribes the chunk in a language; null: in the one that the engine detects.
 */
export async function transcribeAmong(
  candidates: readonly string[],
  { detectsLanguage = false, ignoresLanguage = false }: TranscriptionEngine,
  recognise: (language: string | null) => Promise<ChunkTranscript>,
): Promise<ChunkTranscript> {
  if (detectsLanguage || ignoresLanguage) {
    const heard = await recognise(null);
    if (heard.text.trim() === '') return heard;
    if (heard.languageDetected && candidates.includes(heard.language)) return heard;
    if (ignoresLanguage) return { ...heard, language: candidates[0] ?? heard.language };
  }
  let surest: ChunkTranscript | null = null;
  for (const language of candidates) {
    const heard = { ...(await recognise(language)), language };
    if (!surest || sureness(heard) > sureness(surest)) surest = heard;
  }
  if (!surest) throw new RangeError('a chunk needs one language at least');
  return surest;
}

/** Any text is surer than none. */
const sureness = (transcript: ChunkTranscript): number =>
  transcript.text.trim() === '' ? -1 : confidenceOf({ transcript });
