import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { EngineRuntime } from '../../../src/modules/transcriptions/engines/engine-runtimes.service.js';
import { SherpaEngine } from '../../../src/modules/transcriptions/engines/sherpa/sherpa.engine.js';
import type { TranscriptionEngine } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { SpeechDetectionService } from '../../../src/modules/transcriptions/speech/speech-detection.service.js';
import { TranscriberService } from '../../../src/modules/transcriptions/worker/transcriber.service.js';
import { readEnv } from '../../../src/platform/config/env.js';
import { wav } from '../../support/audio/audio-bytes.js';
import { randomFrom } from '../../support/audio/made-sounds.js';
import { tonesPcm, writeTransducerModel } from '../../support/models/tone-models.js';

const BYTES_PER_SECOND = 32_000;
const WORDS: Readonly<Record<string, string[]>> = {
  go: ['▁go'],
  forward: ['▁forward'],
  ten: ['▁ten'],
  meters: ['▁met', 'ers'],
  stop: ['▁stop'],
};
const MAX_CHUNK_SECONDS = 6;
const OVERLAP_SECONDS = 1;

/** Words without a pause between them that a chunk could be cut at. A word that follows itself is another. */
function spoken(count: number): string[] {
  const random = randomFrom(89);
  const names = Object.keys(WORDS);
  const words: string[] = [];
  while (words.length < count) {
    const word = names[Math.floor(Math.abs(random()) * names.length)] ?? 'go';
    if (word !== words.at(-1)) words.push(word);
  }
  return words;
}

describe('speech without pauses', () => {
  const words = spoken(200);
  const pcm = tonesPcm(
    words.flatMap((word) => WORDS[word] ?? []),
    { seconds: 0.1 },
  );
  let folder: string;
  let engine: SherpaEngine;
  let heardSeconds: number[];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'seams-'));
    const sherpaModel = await writeTransducerModel(path.join(folder, 'tones'));
    const settings = { sherpaMemoryMb: null, transcriptionConcurrency: 1, sandbox: 'auto' } as const;
    engine = new SherpaEngine({ ...settings, sherpaModel, modelsFolder: folder });
  });
  afterAll(async () => {
    await engine.close();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => {
    heardSeconds = [];
  });

  /** The engine with shorter chunks, so that there are more seams. @param timed whether it gives its words */
  function runtime(timed: boolean): EngineRuntime {
    const { name, model, languages, defaultLanguage, concurrency } = engine;
    const shorter: TranscriptionEngine = {
      ...{ name, model, languages, defaultLanguage, concurrency },
      maxChunkSeconds: MAX_CHUNK_SECONDS,
      transcribe: async (chunk, options) => {
        heardSeconds.push(chunk.pcm.length / BYTES_PER_SECOND);
        const transcript = await engine.transcribe(chunk, options);
        return timed ? transcript : { ...transcript, words: [] };
      },
      problem: () => engine.problem(),
      close: async () => undefined,
    };
    return new EngineRuntime(shorter, 64 << 20);
  }

  async function transcribe(audio: Buffer, timed: boolean) {
    const variables = { NODE_ENV: 'test', DATABASE_URL: 'postgres://unused', REDIS_URL: 'redis://unused' };
    // Tones are no speech to the other detector.
    const env = readEnv({ ...variables, SECRET_KEY: 'k'.repeat(32), SPEECH_DETECTOR: 'energy' });
    const file = path.join(folder, 'audio.wav');
    await writeFile(file, wav({ data: audio }));
    const source = { file, format: 'wav', sampleRate: 16_000, channels: 1 } as const;
    let streamed = '';
    const onText = ({ offset, text }: { offset: number; text: string }): void => {
      expect(offset).toBe(streamed.length);
      streamed += text;
    };
    const signal = new AbortController().signal;
    const input = { ...source, accountId: 'a', language: null, onText, signal };
    const result = await new TranscriberService(env, new SpeechDetectionService(env)).transcribe(input, runtime(timed));
    expect(streamed).toBe(result.text);
    return result;
  }

  it.each([
    ['with times of words', true, 0],
    ['with times of words, cut in other places', true, 0.23],
    ['as text only', false, 0.11],
  ])('has every word once %s', async (_, timed, lead) => {
    const audio = Buffer.concat([Buffer.alloc(Math.round(lead * 16_000) * 2), pcm]);
    const result = await transcribe(audio, timed);
    expect(result.text).toBe(words.join(' '));
    expect(result.words.map(({ word }) => word)).toEqual(timed ? words : []);
    const seconds = audio.length / BYTES_PER_SECOND;
    const seams = heardSeconds.length - 1;
    expect(seams).toBe(Math.ceil((seconds - OVERLAP_SECONDS) / (MAX_CHUNK_SECONDS - OVERLAP_SECONDS)) - 1);
    const cost = heardSeconds.reduce((sum, length) => sum + length, 0) - seconds;
    expect(cost).toBeLessThanOrEqual(seams * OVERLAP_SECONDS + 0.01);
    // What two chunks have heard is counted once.
    expect(result.speechSeconds).toBeLessThan(seconds);
  });
});
