import { readFile } from 'node:fs/promises';
import { createOpenAI } from '@ai-sdk/openai';
import { Module } from '@nestjs/common';
import { transcribe } from 'ai';
import OpenAI, { APIError, toFile } from 'openai';
import type { Transcription, TranscriptionStreamEvent } from 'openai/resources/audio/transcriptions';
import request from 'supertest';
import { AnnouncedEnginesService } from '../../../src/modules/transcriptions/engines/announced-engines.service.js';
import { OpenAiEngine } from '../../../src/modules/transcriptions/engines/openai/openai.engine.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { speech, SPEECH } from '../../../src/testing/speech.js';
import { useService } from '../../../src/testing/test-service.js';
import { checkRows } from '../../support/check-rows.js';
import { type FakeAnswer, FakeOpenAiServer, VERBOSE_ANSWER } from '../../support/servers/fake-openai-server.js';

@Module({})
class HostedModule {}

const NAME = 'go-forward-ten-meters.wav';
const SAID = 'Go forward ten meters.';
/** More than a busy machine needs for an answer. */
const TIMES = { limit: 15_000, limitPerSecond: 0, backoff: 5, maxDelay: 50, problemLimit: 15_000, problemKept: 50 };

let server: FakeOpenAiServer;
let hosted: OpenAiEngine;
/** The engine of a server with OpenAI's protocol, so that what clients send can be followed to what is sent there. */
const engines = [
  {
    name: 'hosted',
    create: () => {
      const settings = { openaiBaseUrl: server.baseUrl, openaiApiKey: 'k', openaiModel: 'whisper-1' };
      const engine = new OpenAiEngine({ ...settings, transcriptionConcurrency: 1 }, TIMES);
      hosted = Object.create(engine, { name: { value: 'hosted' } }) as OpenAiEngine;
      return hosted;
    },
  },
];

beforeAll(async () => {
  server = await FakeOpenAiServer.start();
});

afterAll(() => server.stop());

const service = useService({ TRANSCRIPTION_ENGINE: 'hosted' }, { extensions: [{ module: HostedModule, engines }] });
let owner: ApiClient;

beforeEach(async () => {
  owner = await service.account();
  server.calls.length = 0;
  server.answer = { json: VERBOSE_ANSWER };
  server.translations = null;
});

const keyOf = ({ credentials: { key, secret } }: ApiClient): string => `${key}.${secret}`;
const openai = (): OpenAI => new OpenAI({ baseURL: `${service.url}/v1`, apiKey: keyOf(owner), maxRetries: 0 });
const note = async () => await toFile(await speech(NAME), NAME);
const create = async (options: object = {}) =>
  (await openai().audio.transcriptions.create({
    file: await note(),
    model: 'gpt-transcribe',
    ...options,
  })) as Transcription;

async function errorOf(work: Promise<unknown>): Promise<APIError> {
  const error: unknown = await work.then(
    (value) => new Error(`no error but ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof APIError)) throw error;
  return error;
}

/** What an answer in another language looks like. */
const said = (language: string, text: string): FakeAnswer => {
  const segment = { ...VERBOSE_ANSWER.segments[0], text: ` ${text}` };
  return { json: { task: 'transcribe', language, duration: 2.4, text, segments: [segment], words: [] } };
};

describe('parameters of the openai package (D70)', () => {
  it('languages and keywords reach the engine, and the languages that were heard are told by their codes', async () => {
    server.answer = ({ fields }) => (fields.language?.[0] === 'de' ? said('german', 'Ja.') : said('dutch', 'Ja.'));
    const answer = await create({
      languages: ['de', 'pt-BR'],
      keywords: ['Grafana', 'New York'],
      prompt: 'Zoë, grafana',
    });
    expect({ ...answer }).toEqual({
      text: 'Ja.',
      languages: [{ code: 'de' }],
      usage: { type: 'duration', seconds: 3 },
    });
    expect(server.calls.map(({ fields }) => [fields.language?.[0], fields.prompt?.[0]])).toEqual([
      [undefined, 'Grafana, New York, Zoë.'],
      ['de', 'Grafana, New York, Zoë.'],
      ['pt', 'Grafana, New York, Zoë.'],
    ]);
    const { headers } = await openai()
      .audio.transcriptions.create({ file: await note(), model: 'x', languages: ['en'] })
      .asResponse();
    const { body } = await owner.get(`/v1/recordings/${headers.get('x-recording-id')}`).expect(200);
    expect(body.features.languages).toMatchObject([{ language: 'english' }]);
    expect(headers.get('idempotent-replayed')).toBeNull();
  });

  it('include logprobs gives one for each word in json and at the end of a stream, and in no other form', async () => {
    const [first] = VERBOSE_ANSWER.words;
    const words = VERBOSE_ANSWER.words.map((word) => ({ ...word, probability: word === first ? 0.5 : 1 }));
    server.answer = { json: { ...VERBOSE_ANSWER, words } };
    const { logprobs = [], ...rest } = await create({ include: ['logprobs'] });
    expect({ ...rest }).toEqual({ text: SAID, usage: { type: 'duration', seconds: 3 } });
    expect(logprobs[0]).toStrictEqual({ token: 'Go', logprob: -0.6931, bytes: [71, 111] });
    expect(logprobs.map(({ token }) => token).join('')).toBe('Go forward ten meters');
    expect(logprobs.slice(1).every(({ logprob }) => logprob === 0)).toBe(true);
    expect(await create()).not.toHaveProperty('logprobs');
    expect(await create({ include: ['logprobs'], response_format: 'verbose_json' })).not.toHaveProperty('logprobs');
    const events: TranscriptionStreamEvent[] = [];
    const stream = (await create({
      include: ['logprobs'],
      stream: true,
    })) as unknown as AsyncIterable<TranscriptionStreamEvent>;
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type)).toEqual(['transcript.text.delta', 'transcript.text.done']);
    expect(events[0]).toEqual({ type: 'transcript.text.delta', delta: SAID });
    expect(events[1]).toMatchObject({ text: SAID, logprobs });
    expect(server.calls).toHaveLength(1);
  });

  it('what is valid for OpenAI is accepted and changes nothing', async () => {
    const strategy = { type: 'server_vad', threshold: 0.4, prefix_padding_ms: 300, silence_duration_ms: 200 };
    for (const options of [
      { chunking_strategy: 'auto' },
      { chunking_strategy: strategy },
      { chunking_strategy: { type: 'server_vad' }, temperature: 0.2 },
      { known_speaker_names: ['Ann'], known_speaker_references: ['data:audio/wav;base64,AA=='] },
    ]) {
      expect((await create(options)).text).toBe(SAID);
    }
    const { body } = await owner.get('/v1/recordings').expect(200);
    expect(body.recordings).toHaveLength(1);
    expect(server.calls).toHaveLength(1);
  });

  it('a wrong value is refused by the name of its field', () =>
    checkRows<[options: object, param: string, says: RegExp]>(
      [
        [{ languages: ['de', 'klingon'] }, 'languages', /must be the ISO 639 code/],
        [{ languages: ['de', 'en', 'fr', 'it', 'es', 'nl'] }, 'languages', /must be at most 5 languages/],
        [{ languages: ['de'], language: 'en' }, 'languages', /must not be given together with language/],
        [{ keywords: ['Grafana', '--'] }, 'keywords', /term 2 must contain a letter or a digit/],
        [{ include: ['logprobs', 'usage'] }, 'include', /must be one of logprobs/],
        [{ chunking_strategy: 'manual' }, 'chunking_strategy', /must be auto, or an object of type server_vad/],
        [{ chunking_strategy: { type: 'client_vad' } }, 'chunking_strategy', /must be auto, or an object/],
        [{ chunking_strategy: { type: 'server_vad', threshold: 2 } }, 'chunking_strategy', /setting: threshold/],
        [
          { response_format: 'diarized_json', known_speaker_names: ['agent'] },
          'known_speaker_names',
          /cannot be used: leave it out/,
        ],
      ],
      async (options, param, says) => {
        const error = await errorOf(create(options));
        expect([error.status, error.param, error.code]).toEqual([400, param, 'invalid_value']);
        expect(error.message).toMatch(says);
      },
    ));
});

describe('translations (D71)', () => {
  const translate = async (options: object = {}) =>
    (await openai().audio.translations.create({ file: await note(), model: 'whisper-1', ...options })) as unknown;

  it('are made by a server that has them, whatever language is spoken, and kept as the text of the recording', async () => {
    const text = 'Go ten meters ahead.';
    server.translations = { json: { ...VERBOSE_ANSWER, task: 'translate', text, words: undefined, segments: [] } };
    expect(await translate({ prompt: 'Grafana' })).toEqual({ text, usage: { type: 'duration', seconds: 3 } });
    expect(server.translationCalls.map(({ fields }) => fields)).toEqual([
      { model: ['whisper-1'], prompt: ['Grafana.'], response_format: ['verbose_json'] },
    ]);
    const verbose = await translate({ prompt: 'Grafana', response_format: 'verbose_json' });
    expect(verbose).toMatchObject({ task: 'translate', language: 'english', text });
    expect(await translate({ prompt: 'Grafana', response_format: 'text' })).toBe(`${text}\n`);
    expect(server.translationCalls).toHaveLength(1);
    expect(server.calls).toEqual([]);
    // Its transcription is another recording.
    expect((await create({ prompt: 'Grafana' })).text).toBe(SAID);
    const { body } = await owner.get('/v1/recordings').expect(200);
    const features = body.recordings.map((each: { features: object }) => each.features);
    expect(features).toMatchObject([{ no_speech: false }, { task: 'translate' }]);
    expect(features[0]).not.toHaveProperty('task');
  });

  it('are refused, also before anything is stored, where no engine makes them; transcriptions go on', async () => {
    const first = await errorOf(translate());
    expect([first.status, first.code, first.message]).toEqual([
      400,
      'transcription_failed',
      '400 This service has no engine that translates.',
    ]);
    expect(await create()).toMatchObject({ text: SAID });
    expect(hosted.translates).toBe(false);
    // The worker tells it to all processes, at the latest after this time.
    await eventually(async () => !(await service.app.get(AnnouncedEnginesService).mayTranslate()), 60_000);
    const told = await errorOf(translate({ prompt: 'Zoë' }));
    expect(told.code).toBe('invalid_value');
    const { body } = await owner.get('/v1/recordings').expect(200);
    expect(body.recordings).toHaveLength(2);
    expect([told.status, told.type, told.param]).toEqual([400, 'invalid_request_error', 'model']);
    expect(told.message).toBe('400 model: This service has no engine that translates.');
  });
});

describe('the AI SDK', () => {
  const ask = async (model: string, options: Record<string, string | string[] | object> = {}) =>
    await transcribe({
      model: createOpenAI({ baseURL: `${service.url}/v1`, apiKey: keyOf(owner) }).transcription(model),
      audio: await readFile(`${SPEECH}/${NAME}`),
      maxRetries: 0,
      providerOptions: { openai: options as Record<string, string> },
    });

  it('gets the times of segments, and those of words if it asks for them', async () => {
    const plain = await ask('whisper-1');
    expect(plain).toMatchObject({ text: SAID, language: 'en', durationInSeconds: expect.any(Number), warnings: [] });
    expect(plain.segments).toEqual([
      { text: ` ${SAID}`, startSecond: expect.any(Number), endSecond: expect.any(Number) },
    ]);
    const { responses, ...timed } = await ask('whisper-1', { timestampGranularities: ['word'] });
    expect(timed.segments.map(({ text }) => text)).toEqual(['Go', 'forward', 'ten', 'meters']);
    for (const { startSecond, endSecond } of timed.segments) expect(endSecond).toBeGreaterThan(startSecond);
    expect(responses[0]?.headers?.['x-recording-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('sends languages, keywords and a chunking strategy as they are understood', async () => {
    const answer = await ask('gpt-transcribe', {
      languages: ['en', 'de'],
      keywords: ['Grafana'],
      chunkingStrategy: { type: 'server_vad', threshold: 0.5, silenceDurationMs: 300 },
      include: ['logprobs'],
    });
    expect(answer).toMatchObject({ text: SAID, language: 'en', warnings: [] });
    expect(server.calls.map(({ fields }) => [fields.language, fields.prompt])).toEqual([[undefined, ['Grafana.']]]);
  });
});

/** `OpenAIWhisperAudio` of @langchain/community sends this; the package itself brings a hundred others. */
describe('the loader of LangChain', () => {
  it('gets the text of a buffer under its path or its type as a name', async () => {
    for (const name of ['docs/example data/note.wav', 'audio/wav']) {
      const file = await toFile(await speech(NAME), name);
      const { text } = await openai().audio.transcriptions.create({ file, model: 'whisper-1' });
      expect(text).toBe(SAID);
    }
    expect(server.calls).toHaveLength(1);
    await request(service.url).get('/health/live').expect(200);
  });
});
