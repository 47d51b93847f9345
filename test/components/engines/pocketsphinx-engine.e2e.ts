import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Registry } from 'prom-client';
import { judge } from '../../../src/commands/accuracy/measure.js';
import { readManifest } from '../../../src/commands/accuracy/manifest.js';
import { errorsIn } from '../../../src/commands/accuracy/word-errors.js';
import type { AudioFormat } from '../../../src/platform/audio-formats.js';
import { PocketSphinxEngine } from '../../../src/modules/transcriptions/engines/pocketsphinx.engine.js';
import { EngineError } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { SpeechDetectionService } from '../../../src/modules/transcriptions/speech/speech-detection.service.js';
import { EngineRuntimesService } from '../../../src/modules/transcriptions/engines/engine-runtimes.service.js';
import {
  type ChainInput,
  type ChainResult,
  EngineChainService,
} from '../../../src/modules/transcriptions/worker/engine-chain.service.js';
import { TranscriberService } from '../../../src/modules/transcriptions/worker/transcriber.service.js';
import { readEnv } from '../../../src/platform/config/env.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { ROOT } from '../../support/paths.js';
import { SPEECH } from '../../../src/testing/speech.js';

/** Of these few recordings, of which one is old and noisy, together. */
const WORD_ERROR_BOUND = 0.35;
const env = readEnv({
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://localhost/none',
  REDIS_URL: 'redis://localhost',
  SECRET_KEY: 'x'.repeat(32),
});

describe('PocketSphinx', () => {
  const speech = new SpeechDetectionService(env);
  const engines = [{ name: 'pocketsphinx', create: () => new PocketSphinxEngine() }];
  const runtimes = new EngineRuntimesService(env, { chain: [{ name: 'pocketsphinx' }], definitions: engines });
  const metrics = new Registry();
  const chain = new EngineChainService(runtimes, new TranscriberService(env, speech), env, metrics);
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'engine-e2e-'));
  });
  afterAll(async () => {
    await runtimes.onApplicationShutdown();
    await speech.onApplicationShutdown();
    await rm(folder, { recursive: true });
  });

  /** @param name of a recording, or the path of a file */
  async function transcribe(name: string, more: Partial<ChainInput> = {}): Promise<ChainResult> {
    const file = path.resolve(SPEECH, name);
    const format = path.extname(file).slice(1) as AudioFormat;
    const { signal } = new AbortController();
    const facts = { sampleRate: null, channels: null, language: null };
    const input = { accountId: 'a', file, format, ...facts, onText: () => undefined, signal, ...more };
    const { language, languages = null } = input;
    const recording = { accountId: 'a', language, languages, durationMs: 0, faults: 0, accountEngines: null };
    return await chain.transcribe(await chain.candidatesFor(recording), input);
  }

  /** The result of the first time. */
  const results = new Map<string, Promise<ChainResult>>();
  const firstResultOf = (name: string): Promise<ChainResult> => {
    const result = results.get(name) ?? transcribe(name);
    results.set(name, result);
    return result;
  };

  it('can work on this machine', async () => {
    expect(await chain.problem()).toBeNull();
  });

  it('can work in a service that was started with a lower priority than its own', async () => {
    const engine = new URL(`file://${ROOT}/dist/modules/transcriptions/engines/pocketsphinx.engine.js`);
    const script = `
      import { PocketSphinxEngine } from ${JSON.stringify(engine.href)};
      const engine = new PocketSphinxEngine();
      process.stdout.write(String(await engine.problem()), () => process.exit());`;
    const node = [process.execPath, '--no-warnings', '--input-type=module', '--eval', script];
    const { stdout } = await promisify(execFile)('nice', ['-n', '10', ...node], { cwd: ROOT });
    expect(stdout.slice(stdout.lastIndexOf('\n') + 1)).toBe('null');
  });

  it('transcribes every format with few enough word errors', async () => {
    const entries = (await readManifest(SPEECH)).filter(({ lang }) => lang === 'english');
    const judged = await Promise.all(entries.map(async (entry) => judge(entry, await firstResultOf(entry.file))));
    const errors = judged.reduce((sum, result) => sum + errorsIn(result.errors), 0);
    const words = judged.reduce((sum, result) => sum + result.errors.units, 0);
    expect(errors / words).toBeLessThan(WORD_ERROR_BOUND);
  });

  it('gives each word its time and its confidence', async () => {
    const result = await firstResultOf('go-forward-ten-meters.wav');
    expect(result).toMatchObject({ text: 'go forward ten meters', language: 'english', noSpeech: false });
    expect(result.words.map(({ word }) => word)).toEqual(['go', 'forward', 'ten', 'meters']);
    expect(result.confidence).toBeGreaterThan(0.6);
    expect(result.durationSeconds).toBeCloseTo(2.79, 1);
    expect(result.speechSeconds).toBeGreaterThan(1);
    let before = 0;
    for (const { start, end, confidence } of result.words) {
      expect(start).toBeGreaterThanOrEqual(before);
      expect(end).toBeGreaterThan(start);
      expect(confidence).toBeGreaterThanOrEqual(0);
      expect(confidence).toBeLessThanOrEqual(1);
      before = end;
    }
    expect(before).toBeLessThan(2.8);
  });

  it('gives the same result whatever it transcribed before', async () => {
    const first = await firstResultOf('ss-0880.wav');
    await firstResultOf('leopard-de.wav');
    expect(await transcribe('ss-0880.wav')).toEqual(first);
  });

  it('reports low confidence for an unsupported language', async () => {
    const { text, confidence } = await firstResultOf('leopard-de.wav');
    expect(text).not.toBe('');
    expect(confidence).toBeLessThan(0.6);
  });

  it('gives no words for silence', async () => {
    const file = path.join(folder, 'silence.wav');
    await writeFile(file, silenceWav(20));
    expect(await transcribe(file, { language: 'english' })).toEqual({
      durationSeconds: 20,
      text: '',
      confidence: 0,
      language: 'english',
      words: [],
      speechSeconds: 0,
      noSpeech: true,
      peaks: Buffer.alloc(1000),
      provider: 'pocketsphinx',
      model: 'en-us',
    });
  });

  it('ends immediately when aborted', async () => {
    const stop = new AbortController();
    const running = transcribe('jfk.wav', { signal: stop.signal });
    setTimeout(() => stop.abort(new Error('deleted')), 300);
    await expect(running).rejects.toThrow('deleted');
    expect((await transcribe('go-forward-ten-meters.wav')).text).toBe('go forward ten meters');
  });

  it('does not reject the audio when the file is missing', async () => {
    await expect(transcribe('nowhere.wav')).rejects.toBeInstanceOf(EngineError);
  });
});
