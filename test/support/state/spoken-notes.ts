import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { wav } from '../audio/audio-bytes.js';
import { transcribe, type TranscriptOptions } from './recording-states.js';

type SpokenWord = { word: string; start: number; end: number; confidence: number | null; channel?: number };

export interface SpokenNote extends Omit<TranscriptOptions, 'words' | 'durationMs'> {
  filename?: string;
  tags?: Record<string, string>;
  /** Of the audio, which is silent. */
  seconds?: number;
  words?: SpokenWord[];
  /** By default falling and rising. Null: none are stored. */
  peaks?: number[] | null;
}

const RATE = 4000;
/** Above it the audio is as small as players take it, so that two hours can be uploaded. */
const LONG_SECONDS = 1000;

/** Words one after the other, three in a second, each as sure as told. */
export function evenly(text: string, confidence: (index: number) => number = () => 0.93): SpokenWord[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  return words.map((word, index) => ({
    word: word.replace(/[^\p{L}\p{M}\p{N}'<>/=()-]+/gu, '') || word,
    start: index / 3,
    end: index / 3 + 0.3,
    confidence: confidence(index),
  }));
}

/** A recording of silence with this text, in a service with ROLES=api. @returns its id */
export async function addNote(service: TestService, client: ApiClient, note: SpokenNote): Promise<string> {
  const { filename = 'note.wav', tags, seconds, words, peaks, ...spoken } = note;
  const length = seconds ?? Math.max(1, ...(words ?? []).map(({ end }) => Math.ceil(end)));
  const audio =
    length > LONG_SECONDS ? longSilence(length) : wav({ sampleRate: RATE, data: Buffer.alloc(2 * RATE * length) });
  const fields: Record<string, string> = tags ? { custom_tags: JSON.stringify(tags) } : {};
  const { body } = await client.upload(audio, fields, filename).expect(201);
  const id = body.id as string;
  await transcribe(service, id, { ...spoken, durationMs: length * 1000, ...(words && { words }) });
  if (peaks === null) await service.database.query('DELETE FROM waveforms WHERE recording_id = $1', [id]);
  else await addPeaks(service, id, length * 1000, peaks ?? wave(400));
  return id;
}

function longSilence(seconds: number): Buffer {
  const sampleRate = 3000;
  return wav({ sampleRate, bitsPerSample: 8, data: Buffer.alloc(sampleRate * seconds, 128) });
}

function wave(count: number): number[] {
  return Array.from({ length: count }, (_, n) => {
    const phrase = Math.abs(Math.sin(n / 19)) * Math.abs(Math.sin(n / 3.1));
    return Math.round(20 + 235 * phrase ** 0.8);
  });
}

async function addPeaks({ database }: TestService, id: string, durationMs: number, peaks: number[]): Promise<void> {
  await database.query(
    `INSERT INTO waveforms (recording_id, duration_ms, peaks) VALUES ($1, $2, $3)
     ON CONFLICT (recording_id) DO UPDATE SET peaks = excluded.peaks`,
    [id, durationMs, Buffer.from(peaks)],
  );
}
