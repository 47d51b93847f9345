import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { OpenAiEngine } from '../../../src/modules/transcriptions/engines/openai/openai.engine.js';
import type { ChunkTranscript } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { alignWords, comparedUnits, countErrors, errorsIn } from '../../../src/commands/accuracy/word-errors.js';
import { eventually } from '../../../src/testing/eventually.js';
import { SPEECH } from '../../../src/testing/speech.js';
import { freePort } from '../../support/servers/free-port.js';

/**
 * The engine `openai` against the server of whisper.cpp. It runs only where both are given:
 * WHISPER_SERVER=/path/to/whisper-server WHISPER_MODEL=/path/to/ggml-tiny.bin
 */
const { WHISPER_SERVER, WHISPER_MODEL } = process.env;
const BYTES_PER_SECOND = 32_000;
const WAV_HEADER_BYTES = 44;
/** The models for tests in whisper.cpp have random weights: they say anything. */
const SMALLEST_REAL_MODEL = 20_000_000;

const given = WHISPER_SERVER && WHISPER_MODEL ? describe : describe.skip;

// A small model on a busy core takes a multiple of the audio's length.
jest.setTimeout(600_000);

given("whisper.cpp's server (skipped without WHISPER_SERVER and WHISPER_MODEL)", () => {
  const isReal = WHISPER_MODEL !== undefined && readFileSync(WHISPER_MODEL).length > SMALLEST_REAL_MODEL;
  let server: ChildProcess;
  let engine: OpenAiEngine;

  beforeAll(async () => {
    const port = await freePort();
    const address = ['--host', '127.0.0.1', '--port', String(port), '--inference-path', '/v1/audio/transcriptions'];
    const args = ['--model', WHISPER_MODEL ?? '', '--language', 'auto', '--threads', '1', ...address];
    server = spawn(WHISPER_SERVER ?? '', args, { stdio: 'ignore' });
    engine = new OpenAiEngine({
      openaiBaseUrl: `http://127.0.0.1:${port}/v1`,
      openaiApiKey: null,
      openaiModel: 'whisper-1',
      transcriptionConcurrency: 4,
    });
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok, 120_000);
  });

  afterAll(async () => {
    await engine.close();
    server.kill();
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  });

  const speech = (name: string): Buffer => readFileSync(path.join(SPEECH, name)).subarray(WAV_HEADER_BYTES);

  const ask = (
    pcm: Buffer,
    language: string | null = null,
    vocabulary: readonly string[] = [],
  ): Promise<ChunkTranscript> =>
    engine.transcribe({ pcm, start: 0 }, { language, vocabulary, signal: new AbortController().signal });

  function expectWords({ words }: ChunkTranscript, seconds: number): void {
    let before = 0;
    for (const { start, end, confidence } of words) {
      expect(start).toBeGreaterThanOrEqual(before);
      expect(end).toBeGreaterThanOrEqual(start);
      expect(confidence ?? 0).toBeLessThanOrEqual(1);
      before = start;
    }
    expect(before).toBeLessThanOrEqual(seconds + 1);
  }

  it('is healthy', async () => {
    expect(await engine.problem()).toBeNull();
  });

  it('returns a text with the times of its words', async () => {
    const pcm = speech('jfk.wav');
    const transcript = await ask(pcm);
    expectWords(transcript, pcm.length / BYTES_PER_SECOND);
    const said =
      'and so my fellow americans ask not what your country can do for you ask what you can do for your country';
    const [expected, actual] = [said, transcript.text].map((text) => comparedUnits(text, 'english')) as [
      string[],
      string[],
    ];
    const errors = countErrors(alignWords(expected, actual));
    if (isReal) expect(errorsIn(errors) / errors.units).toBeLessThan(0.3);
  });

  it('detects a language, and takes another one', async () => {
    const pcm = speech('go-forward-ten-meters.wav');
    expect((await ask(pcm)).language).toMatch(/^[a-z ]+$/);
    expect((await ask(pcm, 'german')).language).toBe('german');
  });

  it('takes a vocabulary', async () => {
    const pcm = speech('jfk.wav');
    expectWords(await ask(pcm, 'english', ['Kennedy', 'Zoë', 'fellow Americans']), pcm.length / BYTES_PER_SECOND);
    // It would be 0 if the server had refused the prompt.
    expect(engine.maxVocabularyTerms).toBe(15);
  });

  it('takes a long chunk', async () => {
    const note = speech('go-forward-ten-meters.wav');
    const pcm = Buffer.concat(Array.from({ length: 30 }, () => note));
    expectWords(await ask(pcm), pcm.length / BYTES_PER_SECOND);
  });

  it('handles requests that come at the same time one after the other', async () => {
    const pcm = speech('go-forward-ten-meters.wav');
    const transcripts = await Promise.all(Array.from({ length: 4 }, () => ask(pcm, 'english')));
    expect(new Set(transcripts.map(({ text }) => text)).size).toBe(1);
    expect(await engine.problem()).toBeNull();
  });
});
