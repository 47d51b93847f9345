import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  EngineFailureError,
  TooLongForEngineError,
} from '../../../src/modules/transcriptions/engines/engine-failures.js';
import { EngineRuntime } from '../../../src/modules/transcriptions/engines/engine-runtimes.service.js';
import {
  AudioRejectedError,
  type ChunkTranscript,
  type TranscribeOptions,
  type TranscriptionEngine,
} from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { SpeechDetectionService } from '../../../src/modules/transcriptions/speech/speech-detection.service.js';
import {
  type AudioInput,
  LongerThanCountedError,
  TranscriberService,
  type TranscriptFilter,
} from '../../../src/modules/transcriptions/worker/transcriber.service.js';
import { readEnv } from '../../../src/platform/config/env.js';
import { silenceWav, twoChannels, wav } from '../../support/audio/audio-bytes.js';

const SAMPLES = 16_000;
const HEADER = 44;

/** A tone between pauses of a second: one chunk for each. */
function tones(count: number, seconds = 1): Buffer {
  const period = (seconds + 4) * SAMPLES;
  const audio = silenceWav(count * (seconds + 4));
  for (let i = 0; i < count * period; i++) {
    const at = i % period;
    if (at < 2 * SAMPLES || at >= (2 + seconds) * SAMPLES) continue;
    const loudness = at % 4000 < 3200 ? 8000 : 80;
    audio.writeInt16LE(Math.round(Math.sin(i / 4) * loudness), HEADER + 2 * i);
  }
  return audio;
}

describe('the transcriber', () => {
  let folder: string;
  let asked: { start: number; options: TranscribeOptions }[];
  /** What the engine answers to each chunk. */
  let answer: (index: number) => ChunkTranscript;

  const words = (text: string): ChunkTranscript['words'] => [{ word: text, start: 0.5, end: 0.9, confidence: 0.8 }];
  const engine = {
    name: 'fake',
    model: 'fake-1',
    languages: 'any',
    defaultLanguage: 'dutch',
    maxChunkSeconds: 15,
    concurrency: 1,
    maxVocabularyTerms: 1,
    transcribe: async ({ start }: { start: number }, options: TranscribeOptions) => {
      asked.push({ start, options });
      return answer(asked.length - 1);
    },
    problem: async () => null,
    close: async () => undefined,
  } as const satisfies TranscriptionEngine;
  let runtime: EngineRuntime;

  function transcriber(variables: NodeJS.ProcessEnv = {}, filters: TranscriptFilter[] = []): TranscriberService {
    const env = readEnv({
      NODE_ENV: 'test',
      DATABASE_URL: 'postgres://unused',
      REDIS_URL: 'redis://unused',
      SECRET_KEY: 'k'.repeat(32),
      SPEECH_DETECTOR: 'energy',
      MAX_AUDIO_SECONDS: '60',
      ...variables,
    });
    return new TranscriberService(env, new SpeechDetectionService(env), filters);
  }

  async function input(audio: Buffer, more: Partial<AudioInput> = {}): Promise<AudioInput> {
    const file = path.join(folder, 'audio.wav');
    await writeFile(file, audio);
    const signal = new AbortController().signal;
    return { file, format: 'wav', sampleRate: SAMPLES, channels: 1, accountId: 'a', language: null, signal, ...more };
  }

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'transcriber-'));
    asked = [];
    answer = (index) => ({ text: `text ${index}`, confidence: 0.5, language: 'german', words: words('text') });
    runtime = new EngineRuntime(engine, 64 << 20);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('joins what the engine heard in each chunk, and measures the audio', async () => {
    const result = await transcriber().transcribe(await input(tones(2)), runtime);
    expect(result).toMatchObject({ text: 'text 0 text 1', language: 'german', durationSeconds: 10, noSpeech: false });
    expect(asked.map(({ start }) => Math.floor(start))).toEqual([1, 6]);
    expect(result.words.map(({ start }) => Math.floor(start))).toEqual([2, 7]);
    expect(result.speechSeconds).toBeGreaterThan(1);
    expect(result.speechSeconds).toBeLessThan(3.5);
    expect(String(result.speechSeconds)).toMatch(/^\d+(\.\d{1,2})?$/);
    expect(result.peaks).toHaveLength(1000);
    expect(result).not.toHaveProperty('vocabulary');
    expect(result).not.toHaveProperty('punctuationAdded');
  });

  it('has what is said up to the very end of the audio', async () => {
    const untilTheEnd = wav({ data: tones(1).subarray(HEADER, HEADER + 3 * 2 * SAMPLES) });
    expect(await transcriber().transcribe(await input(untilTheEnd), runtime)).toMatchObject({ text: 'text 0' });
  });

  it('asks the engine for the language and the terms of the recording, and says which terms it had', async () => {
    const vocabulary = { upload: ['Zoë', 'Grafana'], account: [] };
    const result = await transcriber().transcribe(await input(tones(1), { language: 'german', vocabulary }), runtime);
    expect(asked.map(({ options }) => [options.language, options.vocabulary])).toEqual([['german', ['Zoë']]]);
    expect(result.vocabulary).toEqual(['Zoë']);
    const deaf = new EngineRuntime({ ...engine, maxVocabularyTerms: 0 }, 64 << 20);
    expect((await transcriber().transcribe(await input(tones(1), { vocabulary }), deaf)).vocabulary).toEqual([]);
  });

  it.each([
    ['german', 'german'],
    [null, 'dutch'],
  ])(
    'has no text where nobody speaks, in the language %s that was given or else that of the engine',
    async (language, spoken) => {
      const result = await transcriber().transcribe(await input(silenceWav(3), { language }), runtime);
      expect(result).toMatchObject({ text: '', words: [], noSpeech: true, speechSeconds: 0, language: spoken });
      expect([asked, result.confidence, result.durationSeconds]).toEqual([[], 0, 3]);
    },
  );

  it('shows the pieces of the text as they come, with their place, but none before filters or punctuation', async () => {
    const pieces: object[] = [];
    const audio = await input(tones(2), { onText: (piece) => pieces.push(piece) });
    await transcriber().transcribe(audio, runtime);
    expect(pieces).toEqual([
      { offset: 0, text: 'text 0' },
      { offset: 6, text: ' text 1' },
    ]);
    const same: TranscriptFilter = (transcript) => transcript;
    await transcriber({}, [same]).transcribe(audio, runtime);
    await transcriber({ ADD_PUNCTUATION: 'true' }).transcribe(audio, runtime);
    expect(pieces).toHaveLength(2);
  });

  it('applies the filters in their order to the whole text, and punctuation after them', async () => {
    const seen: unknown[] = [];
    const filter =
      (mark: string): TranscriptFilter =>
      (transcript) => {
        seen.push([mark, transcript.text, transcript.language]);
        return { text: `${transcript.text} ${mark}`, words: [...transcript.words, ...words(mark)] };
      };
    answer = () => ({ text: 'go', confidence: 0.5, language: 'english', words: words('go') });
    const service = transcriber({ ADD_PUNCTUATION: 'true' }, [filter('a'), filter('b')]);
    const result = await service.transcribe(await input(tones(1)), runtime);
    expect(seen).toEqual([
      ['a', 'go', 'english'],
      ['b', 'go a', 'english'],
    ]);
    expect(result.words.map(({ word }) => word)).toEqual(['go', 'a', 'b']);
    expect([result.text, result.punctuationAdded]).toEqual([expect.stringMatching(/^Go.* b\.$/), true]);
  });

  it('transcribes each of two channels on its own, and shows no pieces then', async () => {
    const left = tones(1);
    const pieces: object[] = [];
    const both = twoChannels(left, left, 5, 10);
    const separate = { channels: 2, separateChannels: true, onText: (piece: object) => pieces.push(piece) };
    const result = await transcriber().transcribe(await input(both, separate), runtime);
    expect(new Set(result.words.map(({ channel }) => channel))).toEqual(new Set([0, 1]));
    expect(pieces).toEqual([]);
    const mixed = await transcriber().transcribe(await input(both, { channels: 2 }), runtime);
    expect(mixed.words.some((word) => 'channel' in word)).toBe(false);
    expect(result.speechSeconds).toBeGreaterThan(1.2);
  });

  it('takes audio of exactly the maximum, and refuses a longer one, whatever its header says', async () => {
    const service = transcriber({ MAX_AUDIO_SECONDS: '60' });
    expect(await service.transcribe(await input(silenceWav(60)), runtime)).toMatchObject({ durationSeconds: 60 });
    const refused = service.transcribe(await input(silenceWav(60.5)), runtime);
    await expect(refused).rejects.toBeInstanceOf(AudioRejectedError);
    await expect(refused).rejects.toThrow('The recording is longer than the maximum of 60 seconds.');
    // The decoded length decides.
    expect(await service.transcribe(await input(silenceWav(5), { countedSeconds: 600 }), runtime)).toMatchObject({
      durationSeconds: 5,
    });
    const long = await input(tones(14), { countedSeconds: 70 });
    await expect(service.transcribe(long, runtime)).rejects.toBeInstanceOf(AudioRejectedError);
    expect(asked).toEqual([]);
  });

  it('gives an engine nothing of audio that is longer than what was counted, and measures it without one', async () => {
    const long = await input(tones(11), { countedSeconds: 2 });
    await expect(transcriber().transcribe(long, runtime)).rejects.toBeInstanceOf(LongerThanCountedError);
    expect(asked).toEqual([]);
    const seconds = await transcriber().measure(long);
    const counted = await input(tones(11), { countedSeconds: seconds });
    expect((await transcriber().transcribe(counted, runtime)).durationSeconds).toBe(seconds);
  });

  it('leaves audio that is too long for an engine to another one', async () => {
    const service = transcriber();
    expect(await service.transcribe(await input(silenceWav(5), { maxSeconds: 5 }), runtime)).toMatchObject({
      durationSeconds: 5,
    });
    const refused = service.transcribe(await input(silenceWav(5.5), { maxSeconds: 5 }), runtime);
    await expect(refused).rejects.toBeInstanceOf(TooLongForEngineError);
    await expect(refused).rejects.toThrow('The recording is longer than the maximum of 5 seconds.');
  });

  it('says that an engine failed, and that it works again once it has transcribed', async () => {
    answer = () => {
      throw new Error('no quota');
    };
    const failed = transcriber().transcribe(await input(tones(1)), runtime);
    await expect(failed).rejects.toBeInstanceOf(EngineFailureError);
    await expect(failed).rejects.toMatchObject({ original: { message: 'no quota' } });
    runtime.setAside('no quota');
    answer = () => ({ text: 'a\0b', confidence: 1, language: 'english', words: [] });
    expect(await transcriber().transcribe(await input(tones(1)), runtime)).toMatchObject({ text: 'ab' });
    expect(runtime.breaker.cause).toBeNull();
  });

  it('ends with the reason of its signal', async () => {
    const going = new AbortController();
    answer = () => {
      going.abort(new Error('deleted'));
      throw new Error('canceled');
    };
    await expect(transcriber().transcribe(await input(tones(1), { signal: going.signal }), runtime)).rejects.toThrow(
      'deleted',
    );
  });
});
