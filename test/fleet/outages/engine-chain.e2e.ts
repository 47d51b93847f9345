import { join } from 'node:path';
import { Module } from '@nestjs/common';
import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { EngineRuntimesService } from '../../../src/modules/transcriptions/engines/engine-runtimes.service.js';
import { OpenAiEngine } from '../../../src/modules/transcriptions/engines/openai/openai.engine.js';
import type {
  EngineDefinition,
  TranscriptionEngine,
} from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { SPEECH } from '../../../src/testing/speech.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { rowOf, useFleet } from '../../support/service/fleet.js';
import { type FakeAnswer, FakeOpenAiServer, VERBOSE_ANSWER } from '../../support/servers/fake-openai-server.js';

const AUDIO = 'go-forward-ten-meters.wav';
/** More than a busy machine needs for an answer. */
const LIMIT_MS = 15_000;
const quick = () => ({
  limit: LIMIT_MS,
  limitPerSecond: 0,
  backoff: 5,
  maxDelay: 50,
  problemLimit: LIMIT_MS,
  problemKept: 50,
});
/** Of each engine. */
const times = { near: quick(), far: quick() };
const NO_QUOTA: FakeAnswer = {
  status: 429,
  json: { error: { code: 'insufficient_quota', message: 'the quota is used up' } },
};
const NO_LANGUAGE: FakeAnswer = { status: 400, json: { error: { message: 'Language de is not supported' } } };
const TERMS = Array.from({ length: 100 }, (_, i) => `Term ${i}`);

@Module({})
class EnginesModule {}

const servers = {} as Record<'near' | 'far', FakeOpenAiServer>;

/** The engine of a server of its own. Its chunks are short, so that a recording has several. */
const engineAt = (name: 'near' | 'far'): EngineDefinition => ({
  name,
  isConfigured: () => true,
  create: () => {
    const settings = { openaiBaseUrl: servers[name].baseUrl, openaiApiKey: 'k', openaiModel: `${name}-1` };
    const engine = new OpenAiEngine({ ...settings, transcriptionConcurrency: 1 }, times[name]);
    return Object.create(engine, { name: { value: name }, maxChunkSeconds: { value: 5 } }) as TranscriptionEngine;
  },
});

const extensions = [{ module: EnginesModule, engines: [engineAt('near'), engineAt('far')] }];
const fleet = useFleet({ extensions });
const CHAIN = { TRANSCRIPTION_ENGINE: 'near,far', LEASE_SECONDS: '4' };
let desk: TestService;
let worker: TestService;

beforeAll(async () => {
  for (const name of ['near', 'far'] as const) {
    servers[name] = await FakeOpenAiServer.start();
    fleet.defer(() => servers[name].stop());
  }
  desk = await fleet.service('api');
  worker = await fleet.service('worker', CHAIN);
});

beforeEach(() => {
  times.near.limit = LIMIT_MS;
  for (const server of Object.values(servers)) {
    server.calls.length = 0;
    server.answer = { json: VERBOSE_ANSWER };
    server.models = { json: { object: 'list', data: [] } };
  }
  for (const { breaker } of worker.app.get(EngineRuntimesService).all) breaker.close();
});

const goesDown = (...names: ('near' | 'far')[]): void => {
  for (const name of names) servers[name].models = { status: 500, json: {} };
};

async function uploaded(client: ApiClient, fields: Record<string, string> = {}, audio = AUDIO): Promise<string> {
  return (await client.upload(audio, fields).expect(201)).body.id as string;
}

/** Its transcription and features, once it is done. */
async function heard(client: ApiClient, id: string): Promise<Record<string, unknown>> {
  const { features, status } = await client.finished(id);
  expect(status).toBe('transcribed');
  const { body } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);
  return { ...body, features };
}

const transcribed = async (client: ApiClient, fields?: Record<string, string>, audio?: string) =>
  await heard(client, await uploaded(client, fields, audio));

const ready = async () => await request(worker.url).get('/health/ready');

const metric = async (line: string) => (await request(worker.url).get('/metrics').expect(200)).text.includes(line);

const WAITING = { status: 'processing', attempt: 0 };
const expectRow = async (id: string, row: object) => expect(await rowOf(desk, id)).toMatchObject(row);

const prompts = (name: 'near' | 'far') => servers[name].calls.map(({ fields }) => fields.prompt?.[0]);

/** An account with engines of its own. */
const own = async (...engines: object[]): Promise<ApiClient> => {
  const client = await desk.account();
  await desk.app.get(AccountService).update(client.accountId, { engines });
  return client;
};

describe('a chain of engines', () => {
  it('uses the first, which the transcription names; features are as ever', async () => {
    const client = await desk.account();
    expect(await transcribed(client)).toMatchObject({ provider: 'near', model: 'near-1' });
    const { features } = await client.finished(await uploaded(client));
    expect(features).toEqual({ speech_seconds: expect.any(Number), no_speech: false });
    expect(servers.far.calls).toEqual([]);
    expect(prompts('near')).toEqual([undefined, undefined]);
  });

  it('goes on with the next when one refuses all work, is degraded, and goes back in time', async () => {
    const client = await desk.account();
    servers.near.answer = NO_QUOTA;
    expect(await transcribed(client)).toMatchObject({ provider: 'far', model: 'far-1' });
    const { status, body } = await ready();
    expect([status, body.status, body.checks.engine]).toEqual([200, 'degraded', 'ok']);
    expect(body.checks.engines).toMatch(/^near: .*the quota is used up/);
    expect(await metric('transcription_engine_set_aside{engine="near"} 1')).toBe(true);
    expect(await metric('transcription_engine_failures_total{engine="near"} 1')).toBe(true);
    const { length } = servers.near.calls;
    expect(await transcribed(client)).toMatchObject({ provider: 'far' });
    expect(servers.near.calls).toHaveLength(length);
    servers.near.answer = { json: VERBOSE_ANSWER };
    await eventually(async () => (await transcribed(client)).provider === 'near', 30_000);
    expect((await ready()).body.checks).not.toHaveProperty('engines');
  });

  it('starts a recording anew when one fails in its middle: no text of two engines', async () => {
    const client = await desk.account();
    const answer = (text: string) => ({ json: { ...VERBOSE_ANSWER, text, segments: [], words: [] } });
    servers.near.next(answer('near'));
    servers.near.answer = NO_QUOTA;
    servers.far.answer = answer('far');
    const { text, provider } = await transcribed(client, {}, 'jfk.wav');
    expect(provider).toBe('far');
    expect(text).toMatch(/^far( far)+$/);
  });

  it('goes on with the next when one refuses the language, or is too slow', async () => {
    const client = await desk.account();
    servers.near.answer = NO_LANGUAGE;
    expect(await transcribed(client, { language: 'german' })).toMatchObject({ provider: 'far' });
    servers.near.answer = { behaviour: 'hang' };
    times.near.limit = 2000;
    const slow = await uploaded(client);
    expect(await heard(client, slow)).toMatchObject({ provider: 'far' });
    await expectRow(slow, { attempt: 1 });
  });

  it('fails what all refuse, with the reason of the last', async () => {
    const client = await desk.account();
    servers.near.answer = servers.far.answer = NO_LANGUAGE;
    const id = await uploaded(client);
    expect(await client.finished(id)).toMatchObject({ status: 'failed' });
  });

  it('waits when all are down, is not ready, and goes on when one works', async () => {
    const client = await desk.account();
    goesDown('near', 'far');
    await eventually(async () => (await ready()).status === 503);
    const id = await uploaded(client);
    const { body } = await ready();
    expect(body.checks.engine).toMatch(/^near: .* answers 500\.; far: /);
    await expectRow(id, WAITING);
    servers.far.models = { json: { object: 'list', data: [] } };
    expect(await heard(client, id)).toMatchObject({ provider: 'far' });
    await expectRow(id, { attempt: 1 });
  });
});

describe('engines of an account', () => {
  it('are used alone, and waited for while others are served', async () => {
    const [mine, others] = [await own({ name: 'far' }), await desk.account()];
    expect(await transcribed(mine)).toMatchObject({ provider: 'far' });
    goesDown('far');
    await eventually(async () => (await ready()).body.status === 'degraded');
    const waiting = await Promise.all(Array.from({ length: 5 }, () => uploaded(mine)));
    expect(await transcribed(others)).toMatchObject({ provider: 'near' });
    for (const id of waiting) await expectRow(id, WAITING);
    servers.far.models = { json: { object: 'list', data: [] } };
    for (const id of waiting) {
      expect(await heard(mine, id)).toMatchObject({ provider: 'far' });
      await expectRow(id, { attempt: 1 });
    }
  });

  it('by language and length: only what none can take waits', async () => {
    const mine = await own({ name: 'near', languages: ['english'], max_seconds: 5 }, { name: 'far' });
    expect(await transcribed(mine, { language: 'english' })).toMatchObject({ provider: 'near' });
    expect(await transcribed(mine, { language: 'german' })).toMatchObject({ provider: 'far' });
    expect(await transcribed(mine, { language: 'english' }, 'jfk.wav')).toMatchObject({ provider: 'far' });
    goesDown('far');
    const waiting = await Promise.all([
      uploaded(mine, { language: 'german' }),
      uploaded(mine, { language: 'german' }),
      uploaded(mine, { language: 'english' }, 'jfk.wav'),
    ]);
    expect(await transcribed(mine, { language: 'english' })).toMatchObject({ provider: 'near' });
    for (const id of waiting) await expectRow(id, WAITING);
    servers.far.models = { json: { object: 'list', data: [] } };
    for (const id of waiting) expect(await heard(mine, id)).toMatchObject({ provider: 'far' });
  });
});

describe('several languages (D69)', () => {
  const said = (language: string | undefined, text: string, avg_logprob: number): FakeAnswer => {
    const segment = { ...VERBOSE_ANSWER.segments[0], end: 2, text: ` ${text}`, avg_logprob };
    return { json: { task: 'transcribe', language, duration: 2, text, segments: [segment], words: [] } };
  };
  const told = () => servers.near.calls.map(({ fields }) => fields.language?.[0] ?? null);

  it('are heard chunk by chunk: what is detected if it is one of them, else the surest of all', async () => {
    const detected = ['german', 'dutch', 'english'];
    servers.near.answer = ({ fields }) => {
      const [code] = fields.language ?? [];
      if (code === 'de') return said('dutch', 'Auf Deutsch gesagt.', -0.1);
      if (code === 'en') return said('english', 'Said in English.', -0.9);
      const language = detected.shift();
      return said(language, `In ${language}.`, -0.2);
    };
    const client = await desk.account();
    const note = await transcribed(client, { languages: 'English, german' }, 'jfk.wav');
    expect(told()).toEqual([null, null, 'en', 'de', null]);
    expect(note).toMatchObject({ language: 'german', text: 'In german. Auf Deutsch gesagt. In english.' });
    const { languages } = note.features as { languages: { language: string; confidence: number; seconds: number }[] };
    expect(languages.map(({ language }) => language)).toEqual(['german', 'english']);
    for (const { confidence, seconds } of languages) {
      expect(confidence).toBeGreaterThan(0.8);
      expect(confidence).toBeLessThan(1);
      expect(seconds).toBeGreaterThan(0);
    }
    const total = languages.reduce((sum, { seconds }) => sum + seconds, 0);
    expect(total).toBeLessThanOrEqual(11.1);
    expect(languages[0]?.seconds).toBeGreaterThan(languages[1]?.seconds ?? Infinity);
  });

  it('are all tried on a server that names none, and a list of one is told', async () => {
    servers.near.answer = ({ fields }) => said(undefined, fields.language?.[0] ?? 'none', -0.3);
    const client = await desk.account();
    const equal = await transcribed(client, { languages: '["french","german"]' });
    expect(told()).toEqual([null, 'fr', 'de']);
    expect(equal).toMatchObject({ language: 'french', text: 'fr', features: { languages: [{ language: 'french' }] } });
    servers.near.calls.length = 0;
    servers.near.answer = said('english', 'Bonjour.', -0.3);
    expect(await transcribed(client, { languages: 'french' })).toMatchObject({ language: 'french' });
    expect(told()).toEqual(['fr']);
    servers.near.answer = said('english', '', -0.3);
    const silent = await transcribed(client, { languages: 'french,german' });
    expect(silent).toMatchObject({ language: 'french', features: { no_speech: true, languages: [] } });
  });

  it('decide on the engines: those that take all of them, and only in these', async () => {
    const mine = await own({ name: 'near', languages: ['english'] }, { name: 'far', languages: ['english', 'german'] });
    servers.far.answer = said('german', 'Auf Deutsch.', -0.2);
    expect(await transcribed(mine, { languages: 'english,german' })).toMatchObject({ provider: 'far' });
    servers.near.answer = said('polish', 'Po polsku.', -0.2);
    const partly = await transcribed(mine, { languages: 'english,polish' });
    expect(partly).toMatchObject({ provider: 'near', language: 'english' });
    expect(told()).toEqual(['en']);
    const { body } = await mine.upload(AUDIO, { languages: 'polish,french' }).expect(201);
    expect(await mine.finished(body.id as string)).toMatchObject({ status: 'failed', features: null });
    const { body: single } = await mine.get(`/v1/recordings/${body.id}?include=transcription`).expect(200);
    expect(single.failure_reason).toBe('Language not supported: polish, french. Supported: english, german.');
  });

  it('that wait for their engine hold up no others of the account', async () => {
    const mine = await own({ name: 'near', languages: ['english'] }, { name: 'far', languages: ['german', 'french'] });
    goesDown('far');
    const waiting = await uploaded(mine, { languages: 'german,french' });
    expect(await transcribed(mine, { languages: 'english' })).toMatchObject({ provider: 'near' });
    expect(await transcribed(mine)).toMatchObject({ provider: 'near' });
    await expectRow(waiting, WAITING);
    servers.far.models = { json: { object: 'list', data: [] } };
    servers.far.answer = said('german', 'Auf Deutsch.', -0.2);
    expect(await heard(mine, waiting)).toMatchObject({ provider: 'far', language: 'german' });
  });

  it('of the upload hold for later runs, until another run names others', async () => {
    servers.near.answer = ({ fields }) => said(fields.language ? 'french' : 'german', 'Gesagt.', -0.2);
    const client = await desk.account();
    const id = await uploaded(client, { languages: 'german,english' });
    await heard(client, id);
    const spoken = async () =>
      (await desk.database.query('SELECT language, languages FROM recordings WHERE id = $1', [id]))[0];
    const again = async (body: object) => {
      await client.post(`/v1/recordings/${id}/transcribe`, body).expect(202);
      await eventually(async () => (await rowOf(desk, id)).rerun === null);
      return (await client.get(`/v1/recordings/${id}`).expect(200)).body.features;
    };
    expect(await again({})).toMatchObject({ languages: [{ language: 'german' }] });
    expect(await again({ languages: ['French'] })).toMatchObject({ languages: [{ language: 'french' }] });
    expect(await spoken()).toEqual({ language: null, languages: ['french'] });
    expect(await again({ language: 'english' })).not.toHaveProperty('languages');
    expect(await spoken()).toEqual({ language: 'english', languages: null });
    await client.post(`/v1/recordings/${id}/transcribe`, { language: 'english', languages: ['german'] }).expect(400);
    const { body } = await client.upload(AUDIO, { language: 'english', languages: 'german' }).expect(400);
    expect(body.error.details).toMatchObject({
      field: 'languages',
      reason: 'must not be given together with language',
    });
  });
});

describe('a vocabulary (D48)', () => {
  it('reaches the engine: the upload’s terms first, then the account’s, never more than 15', async () => {
    const client = await desk.account();
    await client.put('/v1/account/vocabulary', { vocabulary: ['Grafana', ...TERMS.slice(50)] }).expect(200);
    expect(await transcribed(client)).toMatchObject({
      features: { vocabulary: ['Grafana', ...TERMS.slice(50, 64)] },
    });
    expect(await transcribed(client, { vocabulary: 'Zoë, grafana' })).toMatchObject({
      features: { vocabulary: ['Zoë', 'grafana', ...TERMS.slice(50, 63)] },
    });
    const full = await transcribed(client, { vocabulary: JSON.stringify(TERMS) }, 'jfk.wav');
    expect(full).toMatchObject({ features: { vocabulary: TERMS.slice(0, 15) } });
    const sent = prompts('near');
    expect(sent[1]).toBe(`Zoë, grafana, ${TERMS.slice(50, 63).join(', ')}.`);
    expect(sent.length).toBeGreaterThan(3);
    for (const prompt of sent) expect(prompt?.split(', ').length).toBeLessThanOrEqual(15);
    await client.put('/v1/account/vocabulary', { vocabulary: [] }).expect(200);
    const { features } = await transcribed(client);
    expect(features).not.toHaveProperty('vocabulary');
  });

  it('is kept by a retry, and by the engine that takes over', async () => {
    const client = await desk.account();
    servers.near.answer = servers.far.answer = NO_LANGUAGE;
    const id = await uploaded(client, { vocabulary: 'Grafana' });
    await client.finished(id);
    servers.far.answer = { json: VERBOSE_ANSWER };
    await client.post(`/v1/recordings/${id}/retry`).expect(202);
    expect(await heard(client, id)).toMatchObject({ provider: 'far', features: { vocabulary: ['Grafana'] } });
    expect(new Set([...prompts('near'), ...prompts('far')])).toEqual(new Set(['Grafana.']));
  });

  it('is the prompt of the compatible endpoint', async () => {
    const client = await desk.account();
    const { headers } = await request(desk.url)
      .post('/v1/audio/transcriptions')
      .set(client.headers)
      .field('prompt', 'Glossary: Kubernetes, Grafana.')
      .attach('file', join(SPEECH, AUDIO))
      .expect(200);
    expect(headers['x-transcription-engine']).toBe('near/near-1');
    expect(prompts('near')).toEqual(['Kubernetes, Grafana.']);
    const { body } = await client.get(`/v1/recordings/${headers['x-recording-id']}`).expect(200);
    expect(body.features).toMatchObject({ vocabulary: ['Kubernetes', 'Grafana'] });
  });

  it('is [] where the engine cannot take one', async () => {
    const client = await desk.account();
    servers.near.answer = ({ fields }) =>
      fields.prompt
        ? { status: 400, json: { error: { param: 'prompt', message: 'not supported' } } }
        : { json: VERBOSE_ANSWER };
    expect(await transcribed(client, { vocabulary: 'Grafana' })).toMatchObject({
      provider: 'near',
      features: { speech_seconds: expect.any(Number), no_speech: false, vocabulary: [] },
    });
    const { length } = servers.near.calls;
    await transcribed(client, { vocabulary: 'Grafana' });
    expect(servers.near.calls).toHaveLength(length + 1);
  });

  it('is refused with the field and the rule, and the account’s stays as it was', async () => {
    const client = await desk.account();
    for (const [vocabulary, message] of [
      ['[1]', /^vocabulary must be a JSON list of texts/],
      [JSON.stringify([...TERMS, 'x']), /^vocabulary must have at most 100 terms; this has 101/],
      ['x'.repeat(65), /^vocabulary term 1 must be at most 64 characters; this has 65/],
      ['a,--', /^vocabulary term 2 must contain a letter or a digit/],
      ['x'.repeat(16_385), /^vocabulary must be at most 16384 bytes/],
    ] as const) {
      const { body } = await client.upload(AUDIO, { vocabulary }).expect(400);
      expect(body.error).toMatchObject({ type: 'ValidationError', details: { field: 'vocabulary' } });
      expect(body.error.message).toMatch(message);
    }
    await client.put('/v1/account/vocabulary', { vocabulary: ['Zoë'] }).expect(200);
    for (const [given, message] of [
      [{}, /^vocabulary is required/],
      [{ vocabulary: 'Grafana' }, /^vocabulary must be a list of texts/],
      [{ vocabulary: ['\u0000'] }, /^vocabulary term 1 must not contain control characters/],
      [{ vocabulary: [...TERMS, 'x'] }, /^vocabulary must have at most 100 terms/],
      [{ vocabulary: [], terms: [] }, /^terms/],
    ] as const) {
      const { body } = await client.put('/v1/account/vocabulary', given).expect(400);
      expect(body.error.message).toMatch(message);
    }
    expect((await client.get('/v1/account/vocabulary').expect(200)).body).toEqual({ vocabulary: ['Zoë'] });
  });

  it('makes two uploads with one Idempotency-Key differ', async () => {
    const client = await desk.account();
    const upload = (fields: Record<string, string>) => client.upload(AUDIO, fields).set('Idempotency-Key', 'k');
    await upload({ vocabulary: 'Grafana' }).expect(201);
    await upload({ vocabulary: '["Grafana"]' }).expect(201).expect('Idempotent-Replayed', 'true');
    await upload({}).expect(409);
  });
});

describe('engines of an account, when those of the service are down', () => {
  // The last test: it replaces the worker.
  it('serve the account', async () => {
    const [mine, others] = [await own({ name: 'far' }), await desk.account()];
    servers.near.answer = NO_QUOTA;
    await worker.close();
    worker = await fleet.service('worker', { TRANSCRIPTION_ENGINE: 'near' });
    const waiting = await uploaded(others);
    await eventually(async () => (await ready()).status === 503);
    expect(await transcribed(mine)).toMatchObject({ provider: 'far' });
    await expectRow(waiting, WAITING);
  });
});
