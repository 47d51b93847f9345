import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { AudioFormat } from '../../src/modules/transcriptions/decoding/decoder.js';
import { PocketSphinxEngine } from '../../src/modules/transcriptions/engines/pocketsphinx/pocketsphinx.engine.js';
import { AudioRejectedError, EngineError } from '../../src/modules/transcriptions/engines/transcription-engine.js';
import {
  type AudioInput,
  type TranscriptionResult,
  TranscriberService,
} from '../../src/modules/transcriptions/worker/transcriber.service.js';
import { readEnv } from '../../src/platform/config/env.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { wordErrors } from '../support/audio/word-error-rate.js';
import { SPEECH } from '../support/paths.js';

const MAX_AUDIO_SECONDS = 60;
const SAID: Record<string, string> = {
  'cards-001.wav': 'ten of clubs',
  'go-forward-ten-meters.wav': 'go forward ten meters',
  'go-forward-ten-meters.mp3': 'go forward ten meters',
  'go-forward-ten-meters.ogg': 'go forward ten meters',
  'go-forward-ten-meters.webm': 'go forward ten meters',
  'ss-0880.wav': 'he was not an ill disposed young man',
  'ss-0880.mediarecorder.webm': 'he was not an ill disposed young man',
  'jfk.wav': 'and so my fellow americans ask not what your country can do for you ask what you can do for your country',
};
/** Of these few recordings, of which one is old and noisy, together. */
const WORD_ERROR_BOUND = 0.35;
const env = readEnv({
  DATABASE_URL: 'postgres://localhost/none',
  REDIS_URL: 'redis://localhost',
  SECRET_KEY: 'x'.repeat(32),
  MAX_AUDIO_SECONDS: String(MAX_AUDIO_SECONDS),
});

describe('PocketSphinx', () => {
  const transcriber = new TranscriberService(new PocketSphinxEngine(), env);
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'engine-e2e-'));
  });
  afterAll(async () => {
    await transcriber.onApplicationShutdown();
    await rm(folder, { recursive: true });
  });

  function note(file: string, more: Partial<AudioInput> = {}): AudioInput {
    const format = path.extname(file).slice(1) as AudioFormat;
    const signal = new AbortController().signal;
    return { file, format, sampleRate: null, channels: null, language: null, signal, ...more };
  }

  const hear = (name: string, more?: Partial<AudioInput>): Promise<TranscriptionResult> =>
    transcriber.transcribe(note(path.join(SPEECH, name), more));

  async function silence(seconds: number): Promise<string> {
    const file = path.join(folder, `silence-${seconds}.wav`);
    await writeFile(file, silenceWav(seconds));
    return file;
  }

  it('can work on this machine', async () => {
    expect(await transcriber.problem()).toBeNull();
  });

  it('hears what is said, in every format, with few enough errors', async () => {
    const names = Object.keys(SAID);
    const heard = await Promise.all(names.map((name) => hear(name)));
    const counts = heard.map(({ text }, i) => wordErrors(SAID[names[i] ?? ''] ?? '', text));
    const errors = counts.reduce((sum, count) => sum + count.errors, 0);
    const words = counts.reduce((sum, count) => sum + count.words, 0);
    expect(errors / words).toBeLessThan(WORD_ERROR_BOUND);
  });

  it('gives each word its time and its confidence', async () => {
    const heard = await hear('go-forward-ten-meters.wav');
    expect(heard).toMatchObject({ text: 'go forward ten meters', language: 'english', noSpeech: false });
    expect(heard.words.map(({ word }) => word)).toEqual(['go', 'forward', 'ten', 'meters']);
    expect(heard.confidence).toBeGreaterThan(0.6);
    expect(heard.durationSeconds).toBeCloseTo(2.79, 1);
    expect(heard.speechSeconds).toBeGreaterThan(1);
    let before = 0;
    for (const { start, end, confidence } of heard.words) {
      expect(start).toBeGreaterThanOrEqual(before);
      expect(end).toBeGreaterThan(start);
      expect(confidence).toBeGreaterThanOrEqual(0);
      expect(confidence).toBeLessThanOrEqual(1);
      before = end;
    }
    expect(before).toBeLessThan(2.8);
  });

  it('hears the same whatever it heard before', async () => {
    const first = await hear('ss-0880.wav');
    await hear('leopard-de.wav');
    expect(await hear('ss-0880.wav')).toEqual(first);
  });

  it('is unsure of a language that it does not speak', async () => {
    const { text, confidence } = await hear('leopard-de.wav');
    expect(text).not.toBe('');
    expect(confidence).toBeLessThan(0.6);
  });

  it('refuses a language that it does not speak when it is told', async () => {
    const refusal = await hear('leopard-de.wav', { language: 'german' }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AudioRejectedError);
    expect((refusal as Error).message).toMatch(/german.*english/);
  });

  it('makes no words of silence', async () => {
    expect(await transcriber.transcribe(note(await silence(20), { language: 'english' }))).toEqual({
      durationSeconds: 20,
      text: '',
      confidence: 0,
      language: 'english',
      words: [],
      speechSeconds: 0,
      noSpeech: true,
    });
  });

  it.each([[undefined], [MAX_AUDIO_SECONDS + 1]])(
    'refuses what is too long, with a probed length of %s',
    async (probedSeconds) => {
      const file = await silence(MAX_AUDIO_SECONDS + 1);
      const refusal = await transcriber.transcribe(note(file, { probedSeconds })).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(AudioRejectedError);
      expect((refusal as Error).message).toContain(`${MAX_AUDIO_SECONDS} seconds`);
    },
  );

  it('takes what is exactly as long as may be, also when its header claims more', async () => {
    const file = await silence(MAX_AUDIO_SECONDS);
    const heard = await transcriber.transcribe(note(file, { probedSeconds: 100_000 }));
    expect(heard.durationSeconds).toBe(MAX_AUDIO_SECONDS);
  });

  it('ends at once when the note is no longer wanted', async () => {
    const stop = new AbortController();
    const hearing = hear('jfk.wav', { signal: stop.signal });
    setTimeout(() => stop.abort(new Error('deleted')), 300);
    await expect(hearing).rejects.toThrow('deleted');
    expect((await hear('go-forward-ten-meters.wav')).text).toBe('go forward ten meters');
  });

  it('does not blame the audio for a file that is gone', async () => {
    await expect(hear('nowhere.wav')).rejects.toBeInstanceOf(EngineError);
  });
});
