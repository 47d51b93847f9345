import { randomBytes } from 'node:crypto';
import { type OpenAiTimes, OpenAiEngine } from '../../../src/modules/transcriptions/engines/openai/openai.engine.js';
import { AudioRejectedError, EngineError } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { checkRows } from '../../support/check-rows.js';
import {
  type FakeAnswer,
  FakeOpenAiServer,
  refuseFormat,
  textOnly,
  VERBOSE_ANSWER,
} from '../../support/servers/fake-openai-server.js';
import { freePort } from '../../support/servers/free-port.js';

const BYTES_PER_SECOND = 32_000;
const KEY = 'sk-test-0123456789abcdef';
const TIMES: OpenAiTimes = {
  limit: 2000,
  limitPerSecond: 0,
  backoff: 5,
  maxDelay: 3000,
  problemLimit: 300,
  problemKept: 50,
};

describe('the OpenAI engine', () => {
  let server: FakeOpenAiServer;
  const engines: OpenAiEngine[] = [];

  beforeEach(async () => {
    server = await FakeOpenAiServer.start();
  });

  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.close()));
    await server.stop();
  });

  interface Changes {
    baseUrl?: string | null;
    apiKey?: string | null;
    model?: string;
    concurrency?: number | null;
    times?: Partial<OpenAiTimes>;
  }

  function engineFor(changes: Changes = {}): OpenAiEngine {
    const engine = new OpenAiEngine(
      {
        openaiBaseUrl: changes.baseUrl === undefined ? server.baseUrl : changes.baseUrl,
        openaiApiKey: changes.apiKey === undefined ? KEY : changes.apiKey,
        openaiModel: changes.model ?? 'whisper-1',
        transcriptionConcurrency: changes.concurrency ?? null,
      },
      { ...TIMES, ...changes.times },
    );
    engines.push(engine);
    return engine;
  }

  const never = new AbortController().signal;

  function transcribe(engine = engineFor(), language: string | null = null, seconds = 3, signal = never) {
    return engine.transcribe(
      { pcm: Buffer.alloc(seconds * BYTES_PER_SECOND), start: 0 },
      { language, vocabulary: [], signal },
    );
  }

  /** The error of a call that must fail, and that says so. */
  async function failure(call: Promise<unknown>, says: string | RegExp = ''): Promise<Error> {
    const error: Error = await call.then(
      () => new Error('The call succeeded'),
      (reason: Error) => reason,
    );
    expect(error.message).toMatch(says);
    return error;
  }

  /** The error of an engine that does not blame the audio. */
  async function engineFailure(call: Promise<unknown>, says: string | RegExp = ''): Promise<Error> {
    const error = await failure(call, says);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({ audioSuspected: false });
    return error;
  }

  describe('asks', () => {
    it('with a 16 kHz WAV of the chunk, the model, the key and all details', async () => {
      const pcm = randomBytes(3 * BYTES_PER_SECOND);
      await engineFor({ model: 'large-v3' }).transcribe(
        { pcm, start: 0 },
        { language: 'german', vocabulary: [], signal: never },
      );
      const [call] = server.calls;
      expect(call?.fields).toEqual({
        model: ['large-v3'],
        language: ['de'],
        response_format: ['verbose_json'],
        'timestamp_granularities[]': ['word', 'segment'],
      });
      expect(call?.file).toMatchObject({ name: 'audio.wav', type: 'audio/wav' });
      expect(call?.file?.bytes.subarray(0, 4).toString()).toBe('RIFF');
      expect(call?.file?.bytes.readUInt32LE(24)).toBe(16_000);
      expect(call?.file?.bytes.subarray(44).equals(pcm)).toBe(true);
      expect(call?.headers.authorization).toBe(`Bearer ${KEY}`);
      expect(call?.headers['transfer-encoding']).toBeUndefined();
    });

    it('for no language when none is asked for, else in the code that Whisper knows; without a key where none is set', async () => {
      for (const language of [null, 'javanese', 'cantonese']) await transcribe(engineFor({ apiKey: null }), language);
      expect(server.calls.map(({ fields }) => fields.language)).toEqual([undefined, ['jw'], ['yue']]);
      expect(server.calls[0]?.headers).not.toHaveProperty('authorization');
    });

    it('for one of several languages, which newer models are told, and whose only language is the one detected', async () => {
      const languages = ['german', 'javanese'];
      server.answer = { json: { text: 'Guten Tag.', languages: [{ code: 'de' }] } };
      const heard = await Promise.all(
        ['gpt-transcribe', 'whisper-1'].map((model) =>
          engineFor({ model }).transcribe(
            { pcm: Buffer.alloc(BYTES_PER_SECOND), start: 0 },
            { language: null, languages, vocabulary: [], signal: never },
          ),
        ),
      );
      for (const each of heard) expect(each).toMatchObject({ language: 'german', languageDetected: true });
      const sent = server.calls.map(({ fields }) => [fields.model?.[0], fields['languages[]']]);
      expect(Object.fromEntries(sent)).toEqual({ 'gpt-transcribe': ['de', 'jw'], 'whisper-1': undefined });
      server.answer = { json: { text: 'Ja, yes.', languages: [{ code: 'de' }, { code: 'en' }] } };
      expect(await transcribe()).not.toHaveProperty('languageDetected');
    });

    it('at an address that ends with a slash', async () => {
      expect((await transcribe(engineFor({ baseUrl: `${server.baseUrl}/` }))).text).toBe('Go forward ten meters.');
    });

    it('nothing about a chunk too short for a word', async () => {
      const chunk = { pcm: Buffer.alloc(3198), start: 0 };
      const transcript = await engineFor().transcribe(chunk, { language: 'german', vocabulary: [], signal: never });
      expect(transcript).toEqual({ text: '', confidence: null, language: 'german', words: [] });
      expect(server.calls).toEqual([]);
    });

    it('for at most ten minutes, 19.2 MB, which hosted servers accept', async () => {
      const engine = engineFor({ times: { limit: 20_000 } });
      await transcribe(engine, null, engine.maxChunkSeconds);
      expect(server.calls[0]?.file?.bytes.length).toBe(19_200_044);
      await expect(transcribe(engine, null, engine.maxChunkSeconds + 0.1)).rejects.toThrow(RangeError);
      expect(server.calls).toHaveLength(1);
    });
  });

  describe('reads', () => {
    it('text, language, words and confidence', async () => {
      const transcript = await transcribe();
      expect(transcript).toMatchObject({ text: 'Go forward ten meters.', language: 'english' });
      expect(transcript.confidence).toBeCloseTo(Math.exp(-0.2));
      expect(transcript.words[1]).toEqual({ word: 'forward', start: 0.6, end: 1.1, confidence: null });
    });

    it('language codes', async () => {
      server.answer = { json: { ...VERBOSE_ANSWER, language: 'zh' } };
      expect((await transcribe()).language).toBe('chinese');
    });

    it('a text alone, in each form', () =>
      checkRows<[what: string, answer: FakeAnswer]>(
        [
          ['JSON with a text', { json: { text: 'Nur Text.' } }],
          ['plain text', { text: 'Nur Text.\n' }],
          ['a JSON string', { json: 'Nur Text.' }],
        ],
        async (_, answer) => {
          server.answer = answer;
          const transcript = await transcribe(engineFor(), 'german');
          expect(transcript).toEqual({ text: 'Nur Text.', confidence: null, language: 'german', words: [] });
        },
      ));

    it('no page of HTML and no error as a transcript, whatever the status says, and no answer without end', () =>
      checkRows<[says: string, answer: FakeAnswer]>(
        [
          ['no transcript', { text: '<!doctype html><title>Welcome</title>', type: 'text/html' }],
          ['failed to read WAV file', { json: { error: 'failed to read WAV file' } }],
          ['too long', { behaviour: 'flood' }],
        ],
        async (says, answer) => {
          server.answer = answer;
          const call = transcribe(engineFor({ times: { limit: 10_000, maxDelay: 0 } }));
          expect(await failure(call, says)).toBeInstanceOf(EngineError);
        },
      ));
  });

  describe('with models that return only text', () => {
    it('asks for less, takes what there is, and remembers', async () => {
      server.answer = textOnly('Go forward.');
      const engine = engineFor();
      const transcript = await transcribe(engine);
      expect(transcript).toMatchObject({ text: 'Go forward.', words: [] });
      expect(transcript.confidence).toBeCloseTo(Math.exp(-0.1));
      await transcribe(engine);
      const formats = server.calls.map(({ fields }) => fields.response_format?.[0]);
      expect(formats).toEqual(['verbose_json', 'json', 'json']);
    });

    it('asks for the bare text at last', async () => {
      server.answer = ({ fields }) => {
        if (fields.response_format?.[0] !== 'json') return refuseFormat('response_format');
        return fields['include[]'] ? refuseFormat('include') : { json: { text: 'Go.' } };
      };
      const engine = engineFor();
      expect(await transcribe(engine)).toMatchObject({ text: 'Go.', confidence: null });
      await transcribe(engine);
      expect(server.calls).toHaveLength(4);
    });

    it('does not ask for less for ever because one audio was refused', async () => {
      const refusal = { status: 400, json: { error: { message: 'Invalid file format.' } } };
      server.next(refusal, refusal, refusal);
      const engine = engineFor();
      expect(await failure(transcribe(engine))).toBeInstanceOf(AudioRejectedError);
      await transcribe(engine);
      expect(server.calls.at(-1)?.fields.response_format).toEqual(['verbose_json']);
    });
  });

  describe('tries again', () => {
    it('after a failure of the server or of the connection, with the whole audio', () =>
      checkRows<[what: string, first: FakeAnswer]>(
        [
          ...[429, 500, 502, 503].map((status): [string, FakeAnswer] => [`${status}`, { status }]),
          ['cut', { behaviour: 'cut' }],
        ],
        async (_, first) => {
          server.calls.length = 0;
          server.next(first);
          expect((await transcribe()).text).toBe('Go forward ten meters.');
          expect(server.calls.map(({ file }) => file?.bytes.length)).toEqual([96_044, 96_044]);
        },
      ));

    it('no sooner than the server asks', async () => {
      server.next({ status: 429, headers: { 'retry-after': '1' } });
      await transcribe();
      const [first, second] = server.calls;
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
    });

    it('four times at most, then leaves it to the queue', async () => {
      server.answer = { status: 503, json: { error: { message: 'loading model' } } };
      await engineFailure(transcribe(), 'loading model');
      expect(server.calls).toHaveLength(4);
    });

    it('not at all when the server asks for a longer delay than the maximum', async () => {
      server.answer = { status: 429, headers: { 'retry-after': '3600' } };
      expect(await failure(transcribe())).toBeInstanceOf(EngineError);
      expect(server.calls).toHaveLength(1);
    });

    it('only while all delays together are below the maximum', async () => {
      jest.spyOn(Math, 'random').mockReturnValue(0.5);
      server.answer = { status: 503 };
      // The delays are 10 and 40 ms: either is below the maximum.
      const error = await failure(transcribe(engineFor({ times: { backoff: 10, maxDelay: 45 } })));
      jest.restoreAllMocks();
      expect(error).toBeInstanceOf(EngineError);
      expect(server.calls).toHaveLength(2);
    });

    it('not after the audio was rejected', async () => {
      server.answer = { status: 422, json: { detail: 'Audio is broken' } };
      const error = await failure(transcribe());
      expect(error).toBeInstanceOf(AudioRejectedError);
      expect(error).toMatchObject({
        message: 'The transcription server refused the audio',
        cause: 'Audio is broken',
      });
      expect(server.calls).toHaveLength(1);
    });

    it('not after what the operator must fix', () =>
      checkRows([[401], [403], [404]], async (status) => {
        server.calls.length = 0;
        server.answer = { status, json: { error: { message: `Incorrect API key provided: ${KEY}` } } };
        const error = await engineFailure(transcribe());
        expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(KEY);
        expect(server.calls).toHaveLength(1);
      }));
  });

  describe('waits', () => {
    it('no longer than the audio deserves for a server that has come to a stop', () =>
      checkRows<[NonNullable<FakeAnswer['behaviour']>]>([['hang'], ['hang-in-body']], async (behaviour) => {
        server.calls.length = 0;
        server.answer = { behaviour, json: VERBOSE_ANSWER };
        await engineFailure(transcribe(engineFor({ times: { limit: 200 } })), 'in time');
        expect(server.calls).toHaveLength(1);
      }));

    it('longer for longer audio', async () => {
      const engine = engineFor({ times: { limit: 100, limitPerSecond: 500 } });
      server.answer = { behaviour: 'hang' };
      const started = Date.now();
      await failure(transcribe(engine, null, 3));
      expect(Date.now() - started).toBeGreaterThanOrEqual(1500);
    });

    it('not a moment more once nobody wants the answer', () =>
      checkRows<[what: string, answer: FakeAnswer]>(
        [
          ['while it hangs', { behaviour: 'hang' }],
          ['between attempts', { status: 429, headers: { 'retry-after': '2' } }],
        ],
        async (_, answer) => {
          server.answer = answer;
          const controller = new AbortController();
          const call = failure(transcribe(engineFor(), null, 3, controller.signal), 'deleted');
          setTimeout(() => controller.abort(new Error('deleted')), 50);
          const started = Date.now();
          await call;
          expect(Date.now() - started).toBeLessThan(1500);
        },
      ));
  });

  it('reports that there is no server', async () => {
    const engine = engineFor({ baseUrl: `http://127.0.0.1:${await freePort()}/v1` });
    await engineFailure(transcribe(engine), /OPENAI_BASE_URL.*connection refused/);
  });

  describe('has', () => {
    it('no problem with a server that answers, with or without a list of models', async () => {
      for (const models of [server.models, { status: 404 }, { status: 405 }, { status: 403 }]) {
        server.models = models;
        expect(await engineFor().problem()).toBeNull();
      }
    });

    it('a problem with a key that is refused, and names the variable', async () => {
      server.models = { status: 401 };
      expect(await engineFor().problem()).toContain('check OPENAI_API_KEY');
      expect(await engineFor({ apiKey: null }).problem()).toContain('set OPENAI_API_KEY');
    });

    it('a problem with the hosted service without a key, and sends no request', async () => {
      expect(await engineFor({ baseUrl: null, apiKey: null }).problem()).toContain('set OPENAI_API_KEY');
    });

    it('a problem with a server that is down, starting or silent', async () => {
      const nowhere = engineFor({ baseUrl: `http://127.0.0.1:${await freePort()}/v1` });
      expect(await nowhere.problem()).toMatch(/OPENAI_BASE_URL.*connection refused/);
      server.models = { status: 503 };
      expect(await engineFor().problem()).toContain('answers 503');
      server.models = { behaviour: 'hang' };
      expect(await engineFor().problem()).toContain('in time');
    });

    it('an answer at hand for a while, also for many who ask at once', async () => {
      const engine = engineFor();
      await Promise.all([engine.problem(), engine.problem(), engine.problem()]);
      expect(server.modelCalls).toBe(1);
      await new Promise((elapsed) => setTimeout(elapsed, 80));
      await engine.problem();
      expect(server.modelCalls).toBe(2);
    });

    it('no password of the address in what it says', async () => {
      const port = await freePort();
      const engine = engineFor({ baseUrl: `http://user:hidden@127.0.0.1:${port}/v1` });
      expect(await engine.problem()).toContain(`http://127.0.0.1:${port}/v1`);
      expect(await engine.problem()).not.toContain('hidden');
    });
  });

  it('transcribes as many chunks at once as it declares', async () => {
    const engine = engineFor({ concurrency: 3 });
    expect(engine.concurrency).toBe(3);
    expect(engineFor().concurrency).toBe(4);
    await Promise.all([transcribe(engine), transcribe(engine), transcribe(engine)]);
    expect(server.calls).toHaveLength(3);
  });
});
