import { languageName } from '../../../../platform/languages.js';
import { SAMPLES_PER_SECOND } from '../../audio/pcm.js';
import type { ChunkTranscript, SpeechSection } from '../transcription-engine.js';
import type { SherpaSettings } from './sherpa-settings.js';
import { type SherpaResult, wordsOf } from './sherpa-words.js';

const FULL_SCALE = 32_768;

/** 16-bit little-endian to −1 … 1. The bytes may start at an odd address. */
export function samplesOf(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from(
    { length: bytes.byteLength >> 1 },
    (_, index) => view.getInt16(2 * index, true) / FULL_SCALE,
  );
}

/** Almost silence, in which little is recognised: the first use of a model allocates what it needs. */
export function noise(seconds: number): Uint8Array {
  const pcm = Int16Array.from({ length: seconds * SAMPLES_PER_SECOND }, (_, index) => ((index * 7919) % 17) - 8);
  return new Uint8Array(pcm.buffer);
}

interface Heard {
  /** Of the audio, in seconds. */
  length: number;
  /** Where somebody speaks: at least one section. */
  speech: readonly SpeechSection[];
  language?: string | null;
}

/** What a model has made of audio. */
export function transcriptOf(
  result: SherpaResult,
  { length, speech, language = null }: Heard,
  { capitalsOnly, defaultLanguage }: Pick<SherpaSettings, 'capitalsOnly' | 'defaultLanguage'>,
): ChunkTranscript {
  const text = spelled(result.text, capitalsOnly);
  const words = wordsOf({ ...result, text }, speech);
  const known = words.flatMap(({ confidence }) => confidence ?? []);
  const detected = languageName(result.lang.replace(/[<|>]/g, ''));
  return {
    text,
    confidence: known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null,
    language: detected ?? language ?? defaultLanguage,
    ...(detected !== null && { languageDetected: true }),
    words: within(words, length),
  };
}

function spelled(text: string, capitalsOnly: boolean): string {
  const plain = text.replaceAll('▁', ' ').replace(/\s+/g, ' ').trim();
  return capitalsOnly ? plain.toLowerCase() : plain;
}

/** A word cannot end after the audio, of which the model may have got more. */
function within(words: ChunkTranscript['words'], seconds: number): ChunkTranscript['words'] {
  return words.map(({ start, end, ...rest }) => ({
    ...rest,
    start: Math.min(start, seconds),
    end: Math.min(end, seconds),
  }));
}
