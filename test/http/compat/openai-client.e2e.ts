import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import OpenAI, { APIError, toFile } from 'openai';
import type { TranscriptionVerbose } from 'openai/resources/audio/transcriptions';
import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { speech, SPEECH } from '../../../src/testing/speech.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { silenceWav, silentMp3 } from '../../support/audio/audio-bytes.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { scriptedEngine } from '../../support/service/test-engines.js';

const NOTE = join(SPEECH, 'go-forward-ten-meters.wav');
/** Eleven seconds, in several chunks. */
const LONG_NOTE = join(SPEECH, 'jfk.wav');
const SAID = 'part 0 of it';
const ENGINE = { TRANSCRIPTION_ENGINE: 'scripted' };

const engine = scriptedEngine();
const service = useService({ ...ENGINE, COMPAT_TIMEOUT_SECONDS: '20' }, { extensions: [engine.extension] });
const { environment } = service;

let owner: ApiClient;

beforeEach(async () => {
  owner = await service.account();
});

afterEach(() => {
  engine.state.failure = null;
  engine.holdFrom(Infinity);
});

/** The official client, with nothing changed but its base URL and its key. */
const clientOf = ({ credentials: { key, secret } }: ApiClient, url = service.url, maxRetries = 0): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: `${key}.${secret}`, maxRetries });

const create = (options: object = {}, client = clientOf(owner)) =>
  client.audio.transcriptions.create({ file: createReadStream(NOTE), model: 'whisper-1', ...options });

async function recordingsOf(account = owner): Promise<{ id: string; status: string }[]> {
  return (await account.at(service.url).get('/v1/recordings').expect(200)).body.recordings;
}

/** What the account is billed for. */
async function meteredBy(account = owner): Promise<{ recordings_count: number; total_duration_seconds: number }> {
  return (await account.at(service.url).get('/v1/account').expect(200)).body.usage.current_month;
}

async function errorOf(work: Promise<unknown>): Promise<APIError> {
  const error = await work.then(
    (value) => new Error(`no error but ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof APIError)) throw error;
  return error;
}

/** A form that no official client sends. */
const post = (fields: [string, string][], account = owner) => {
  const sending = request(service.url).post('/v1/audio/transcriptions').set(account.headers);
  for (const [name, value] of fields) void sending.field(name, value);
  return sending.attach('file', NOTE);
};

describe('the openai package', () => {
  describe('response_format', () => {
    it('json, which is the default', async () => {
      const expected = { text: SAID, usage: { type: 'duration', seconds: 3 } };
      expect({ ...(await create()) }).toMatchObject(expected);
      expect({ ...(await create({ response_format: 'json' })) }).toMatchObject(expected);
    });

    it('text, srt and vtt', async () => {
      expect(await create({ response_format: 'text' })).toBe(`${SAID}\n`);
      expect(await create({ response_format: 'srt' })).toMatch(
        /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\npart 0 of it\n$/,
      );
      expect(await create({ response_format: 'vtt' })).toMatch(
        /^WEBVTT\n\n00:00:0\d\.\d{3} --> 00:00:0\d\.\d{3}\npart 0 of it\n$/,
      );
    });

    it('verbose_json, with segments that hold every key of OpenAI and make up the text', async () => {
      const verbose = await create({ response_format: 'verbose_json', file: createReadStream(LONG_NOTE) });
      const { segments = [], ...rest } = verbose as TranscriptionVerbose & { task: string };
      expect(rest).toStrictEqual({
        task: 'transcribe',
        language: 'english',
        duration: 11,
        text: expect.stringMatching(/^part 0 of it part \d+ of it/),
        usage: { type: 'duration', seconds: 11 },
      });
      expect(segments.length).toBeGreaterThan(1);
      segments.forEach((segment, id) => {
        expect(segment).toStrictEqual({
          id,
          seek: 0,
          start: expect.any(Number),
          end: expect.any(Number),
          text: expect.stringMatching(/^ \S/),
          tokens: [],
          temperature: 0,
          avg_logprob: -0.2231,
          compression_ratio: expect.any(Number),
          no_speech_prob: 0,
        });
        expect(segment.end).toBeGreaterThan(segment.start);
      });
      expect(segments.map(({ text }) => text).join('')).toBe(` ${rest.text}`);
    });

    it('verbose_json with words, with segments, and with both; words are never null', async () => {
      const ask = async (timestamp_granularities?: string[]) =>
        (await create({ response_format: 'verbose_json', timestamp_granularities })) as TranscriptionVerbose;
      const [none, words, segments, both] = [
        await ask(),
        await ask(['word']),
        await ask(['segment']),
        await ask(['word', 'segment']),
      ];
      expect(words.words).toHaveLength(4);
      expect(words.words?.[0]).toStrictEqual({ word: 'part', start: expect.any(Number), end: expect.any(Number) });
      expect([none, words, segments, both].map((answer) => ['segments' in answer, 'words' in answer])).toEqual([
        [true, false],
        [false, true],
        [true, false],
        [true, true],
      ]);
      const silent = await create({
        file: await toFile(silenceWav(1), 'silence.wav'),
        response_format: 'verbose_json',
        timestamp_granularities: ['word', 'segment'],
      });
      expect(silent).toMatchObject({ text: '', words: [], segments: [], language: 'english', duration: 1 });
    });
  });

  describe('stream', () => {
    it('sends a delta for each chunk while others are still transcribed, then the whole text', async () => {
      engine.holdFrom(4);
      const stream = await create({ stream: true, file: createReadStream(LONG_NOTE) } as const);
      const events: { type: string; delta?: string; text?: string }[] = [];
      for await (const event of stream as unknown as AsyncIterable<(typeof events)[number]>) {
        if (events.length === 0) {
          expect(event).toStrictEqual({ type: 'transcript.text.delta', delta: SAID });
          expect((await recordingsOf())[0]?.status).toBe('processing');
          engine.holdFrom(Infinity);
        }
        events.push(event);
      }
      const done = events.pop();
      const { text } = await create({ file: createReadStream(LONG_NOTE) });
      expect(events.length).toBeGreaterThan(1);
      expect(events.every(({ type }) => type === 'transcript.text.delta')).toBe(true);
      expect(events.map(({ delta }) => delta).join('')).toBe(text);
      expect(done).toStrictEqual({ type: 'transcript.text.done', text, usage: { type: 'duration', seconds: 11 } });
    });

    it('sends what is already there, and names the engine', async () => {
      await create();
      const { data, response } = await create({ stream: true } as const).withResponse();
      const events: unknown[] = [];
      for await (const event of data as unknown as AsyncIterable<unknown>) events.push(event);
      expect(events).toEqual([
        { type: 'transcript.text.delta', delta: SAID },
        { type: 'transcript.text.done', text: SAID, usage: { type: 'duration', seconds: 3 } },
      ]);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(response.headers.get('x-transcription-engine')).toBe('scripted/scripted-1');
    });

    it('ends with an error event when the rest fails', async () => {
      engine.holdFrom(4);
      const stream = await create({ stream: true, file: createReadStream(LONG_NOTE) } as const);
      const heard: unknown[] = [];
      const error = await errorOf(
        (async () => {
          for await (const event of stream as unknown as AsyncIterable<unknown>) {
            heard.push(event);
            engine.state.failure = 'Nothing but noise.';
            engine.holdFrom(Infinity);
          }
        })(),
      );
      expect(heard.length).toBeGreaterThan(0);
      expect(JSON.stringify(heard)).not.toContain('done');
      expect([error.message, error.code]).toEqual(['Nothing but noise.', 'transcription_failed']);
    });
  });

  it('takes a file from disk, a Blob, a stream, and bytes under a false name and type', async () => {
    const wav = await speech('go-forward-ten-meters.wav');
    for (const file of [
      createReadStream(NOTE),
      new File([new Uint8Array(wav)], 'note.wav'),
      await toFile(Readable.from(createReadStream(NOTE)), 'note.wav'),
      await toFile(await speech('go-forward-ten-meters.ogg'), 'x.txt'),
    ]) {
      expect((await create({ file })).text).toBe(SAID);
    }
  });

  describe('fields', () => {
    it('takes any model, ignores what else official clients send, and tells the engine in a header', async () => {
      const ignored = { temperature: 0.2, include: ['logprobs'], known_speaker_names: ['Ann', 'Bob'], user: 'someone' };
      for (const model of ['whisper-1', 'any model at all']) {
        const { data, response } = await create({ model, ...ignored }).withResponse();
        expect(data.text).toBe(SAID);
        expect(response.headers.get('x-transcription-engine')).toBe('scripted/scripted-1');
      }
      expect(await recordingsOf()).toHaveLength(1);
    });

    it('takes an ISO code, passes the language to the engine, and refuses what is no language', async () => {
      const verbose = await create({ language: 'de', response_format: 'verbose_json' });
      expect(verbose).toMatchObject({ language: 'german' });
      expect(engine.state.languages.at(-1)).toBe('german');
      const error = await errorOf(create({ language: 'klingonese' }));
      expect([error.status, error.param, error.code]).toEqual([400, 'language', 'invalid_value']);
    });

    it('names the field of a wrong value', async () => {
      const wrong: [string, string][] = [
        ['response_format', 'xml'],
        ['timestamp_granularities[]', 'sentence'],
        ['stream', 'perhaps'],
      ];
      for (const [name, value] of wrong) {
        const { body } = await post([[name, value]]).expect(400);
        expect(body).toStrictEqual({
          error: {
            message: expect.stringMatching(/must be/),
            type: 'invalid_request_error',
            param: name.replace('[]', ''),
            code: 'invalid_value',
          },
        });
      }
      expect(await recordingsOf()).toEqual([]);
    });

    it('lists a model, and knows every name', async () => {
      const names: string[] = [];
      for await (const { id } of clientOf(owner).models.list()) names.push(id);
      expect(names).toEqual(['whisper-1']);
      expect(await clientOf(owner).models.retrieve('gpt-4o-transcribe')).toMatchObject({
        id: 'gpt-4o-transcribe',
        object: 'model',
      });
    });
  });

  describe('errors', () => {
    it('a wrong key', async () => {
      const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'sk-wrong', maxRetries: 0 });
      for (const work of [() => create({}, client), () => client.models.list()]) {
        const error = await errorOf(work());
        expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
        expect([error.type, error.code, error.param]).toEqual(['invalid_request_error', 'invalid_api_key', null]);
      }
    });

    it('a key without the scope to read, or to write', async () => {
      for (const [has, lacks] of [
        ['recordings:write', 'recordings:read'],
        ['recordings:read', 'recordings:write'],
      ] as const) {
        const error = await errorOf(create({}, clientOf(await service.key(owner, [has]))));
        expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
        expect(error.message).toContain(lacks);
      }
    });

    it('the rate limit, with its headers', async () => {
      const free = await service.account('free');
      const client = clientOf(free);
      const errors = await Promise.all(
        Array.from({ length: 21 }, () =>
          client.models.list().then(
            () => null,
            (error: APIError) => error,
          ),
        ),
      );
      const error = errors.find((item) => item !== null);
      expect(error).toBeInstanceOf(OpenAI.RateLimitError);
      expect([error?.type, error?.code]).toEqual(['rate_limit_error', 'rate_limit_exceeded']);
      expect(Number(error?.headers?.get('retry-after'))).toBeGreaterThan(0);
      expect(error?.headers?.get('x-ratelimit-limit')).toBe('10');
    });

    it('a file that is too large, or no audio, or a note that cannot be decoded', async () => {
      const large = await errorOf(create({ file: await toFile(Buffer.alloc(26_300_000, 'RIFF'), 'large.wav') }));
      expect([large.status, large.code, large.param]).toEqual([413, 'file_too_large', 'file']);
      const text = await errorOf(create({ file: await toFile(Buffer.from('no audio'), 'note.wav') }));
      expect([text.status, text.code, text.param]).toEqual([400, 'invalid_value', 'file']);
      const damaged = await toFile(silentMp3(1).fill(0, 200), 'note.mp3');
      const broken = await errorOf(create({ file: damaged }));
      expect([broken.status, broken.code, broken.param]).toEqual([400, 'transcription_failed', 'file']);
      expect(broken.headers?.get('x-recording-id')).toMatch(/^[0-9a-f-]{36}$/);
    });

    it('a full quota, and a method that the path does not have', async () => {
      await service.app.get(AccountService).update(owner.accountId, { quotas: { storedBytes: 1 } });
      const error = await errorOf(create());
      expect([error.status, error.code]).toEqual([403, 'insufficient_quota']);
      const { body } = await owner.get('/v1/audio/transcriptions').expect(404);
      expect(body.error).toMatchObject({ type: 'invalid_request_error', code: 'unknown_url', param: null });
    });
  });
});

describe('one note is one recording', () => {
  it('for requests at the same moment, whatever form they ask for, and is metered once', async () => {
    const formats = ['json', 'text', 'srt', 'vtt', 'verbose_json'];
    const answers = await Promise.all(
      [...formats, ...formats].map((response_format) => create({ response_format }).asResponse()),
    );
    expect(new Set(answers.map(({ headers }) => headers.get('x-recording-id'))).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(await recordingsOf()).toHaveLength(1);
    expect((await meteredBy()).recordings_count).toBe(1);
  });

  it('unless the language, the prompt, the bytes or the account is another', async () => {
    const stranger = await service.account();
    await create();
    await create({ language: 'de' });
    await create({ prompt: 'Grafana' });
    await create({ file: await toFile(await speech('go-forward-ten-meters.ogg'), 'note.ogg') });
    await create({}, clientOf(stranger));
    expect(await recordingsOf()).toHaveLength(4);
    expect(await recordingsOf(stranger)).toHaveLength(1);
  });

  it('for ten minutes, and not after it was deleted', async () => {
    await create();
    const [first] = await recordingsOf();
    await owner.delete(`/v1/recordings/${first?.id}`).expect(204);
    await create();
    const [second] = await recordingsOf();
    expect(second?.id).not.toBe(first?.id);
    const age = (minutes: number) =>
      service.database.query(
        'UPDATE idempotency_keys SET created_at = now() - make_interval(mins => $2) WHERE account_id = $1',
        [owner.accountId, minutes],
      );
    await age(9);
    await create();
    expect(await recordingsOf()).toHaveLength(1);
    await age(10);
    await Promise.all([create(), create()]);
    expect(await recordingsOf()).toHaveLength(2);
  });

  it('with an Idempotency-Key for a day, and another note with it is a conflict', async () => {
    const headers = { 'Idempotency-Key': 'note-1' };
    const client = new OpenAI({ ...clientOf(owner), baseURL: `${service.url}/v1`, defaultHeaders: headers });
    await create({}, client);
    await create({}, client);
    expect(await recordingsOf()).toHaveLength(1);
    const error = await errorOf(create({ language: 'fr' }, client.withOptions({ maxRetries: 0 })));
    expect([error.status, error.code]).toEqual([409, 'conflict']);
  });

  it('that was not transcribed in time is 408, and the retries of the package find it again', async () => {
    const hasty = await startService(environment, { ...ENGINE, ROLES: 'api', COMPAT_TIMEOUT_SECONDS: '1' });
    engine.holdFrom(0);
    const error = await errorOf(create({}, clientOf(owner, hasty.url)));
    expect([error.status, error.type, error.code]).toEqual([408, 'timeout_error', 'timeout']);
    expect(error.headers?.get('retry-after')).toBe('1');
    expect(error.headers?.get('x-recording-id')).toMatch(/./);

    // The package does not repeat what it cannot read again: a stream.
    const file = await toFile(await speech('go-forward-ten-meters.wav'), 'note.wav');
    const retried = create({ file }, clientOf(owner, hasty.url, 5)).withResponse();
    setTimeout(() => engine.holdFrom(Infinity), 2500);
    const { data, response } = await retried;
    expect(data.text).toBe(SAID);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(await recordingsOf()).toHaveLength(1);
    expect((await meteredBy()).recordings_count).toBe(1);
    await hasty.close();
  });

  it('that failed is told so for a minute, and then tried again as the same recording', async () => {
    engine.state.failure = 'Nothing but noise.';
    for (let time = 0; time < 2; time++) {
      const error = await errorOf(create());
      expect([error.status, error.code, error.message]).toEqual([
        400,
        'transcription_failed',
        '400 Nothing but noise.',
      ]);
    }
    engine.state.failure = null;
    await service.database.query(
      `UPDATE recordings SET processed_at = processed_at - interval '61 s' WHERE account_id = $1`,
      [owner.accountId],
    );
    const texts = await Promise.all([create(), create(), create()]);
    expect(texts.map(({ text }) => text)).toEqual([SAID, SAID, SAID]);
    expect(await recordingsOf()).toHaveLength(1);
    expect((await meteredBy()).recordings_count).toBe(1);
  });

  it('that is silent is 200 without text', async () => {
    const { data, response } = await create({ file: await toFile(silenceWav(1), 'silence.wav') }).withResponse();
    expect([response.status, data.text]).toEqual([200, '']);
  });

  it('that is deleted meanwhile is 404', async () => {
    engine.holdFrom(0);
    const waiting = errorOf(create());
    const id = await eventually(async () => (await recordingsOf())[0]?.id);
    await owner.delete(`/v1/recordings/${id}`).expect(204);
    expect((await waiting).status).toBe(404);
  });
});

describe('a request that waits', () => {
  const waitingIn = async (url: string): Promise<number> => {
    const { text } = await request(url).get('/metrics');
    return Number(/^compat_waiting_requests (\d+)$/m.exec(text)?.[1]);
  };

  it('and goes away leaves the recording, and nothing else', async () => {
    engine.holdFrom(0);
    const leaving = new AbortController();
    const left = create({}).catch(() => undefined);
    const client = clientOf(owner);
    const aborted = client.audio.transcriptions
      .create({ file: createReadStream(LONG_NOTE), model: 'x' }, { signal: leaving.signal })
      .catch((error: Error) => error.constructor.name);
    await eventually(async () => (await recordingsOf()).length === 2);
    expect(await waitingIn(service.url)).toBe(2);
    leaving.abort();
    expect(await aborted).toBe('APIUserAbortError');
    await eventually(async () => (await waitingIn(service.url)) === 1);
    engine.holdFrom(Infinity);
    await left;
    await eventually(async () => (await recordingsOf()).every(({ status }) => status === 'transcribed'));
    expect(await waitingIn(service.url)).toBe(0);
  });

  it('is one of a bounded number, of an account and of a process; a stop ends all with 503 at once', async () => {
    const limits = { ...ENGINE, ROLES: 'api', COMPAT_WAITING: '3', COMPAT_WAITING_PER_ACCOUNT: '2' };
    const small = await startService(environment, limits);
    const [first, second] = [await service.account(), await service.account()];
    engine.holdFrom(0);
    const ask = (account: ApiClient) => errorOf(create({}, clientOf(account, small.url)));
    const waiting = [ask(first), ask(first)];
    await eventually(async () => (await waitingIn(small.url)) === 2);
    const ofAccount = await ask(first);
    expect([ofAccount.status, ofAccount.headers?.get('retry-after')]).toEqual([429, '1']);
    waiting.push(ask(second));
    await eventually(async () => (await waitingIn(small.url)) === 3);
    const ofProcess = await ask(second);
    expect([ofProcess.status, ofProcess.headers?.get('retry-after')]).toEqual([503, '1']);

    const startedAt = Date.now();
    const closed = small.close();
    const ended = await Promise.all(waiting);
    reportMeasurement(`a stop ended waiting requests after ${Date.now() - startedAt} ms`);
    expect(ended.map(({ status, headers }) => [status, headers?.get('retry-after')])).toEqual(
      Array.from({ length: 3 }, () => [503, '1']),
    );
    expect(Date.now() - startedAt).toBeLessThan(8000);
    await closed;
  });
});
