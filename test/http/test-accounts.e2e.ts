import type { Credentials } from '../../src/testing/api-client.js';
import { ApiClient } from '../../src/testing/api-client.js';
import { AccountService } from '../../src/modules/account/account.service.js';
import { eventually } from '../../src/testing/eventually.js';
import { SCOPES } from '../../src/access/scopes.js';
import { useService } from '../../src/testing/test-service.js';
import { signatureProblems, WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { startStopwatch } from '../support/cpu-wait.js';
import { expectError } from '../support/http/expect-errors.js';
import { ACCOUNT, CREATED_API_KEY } from '../support/http/response-shapes.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { scriptedEngine } from '../support/service/test-engines.js';

const engine = scriptedEngine();
const service = useService({ TRANSCRIPTION_ENGINE: 'scripted' }, { extensions: [engine.extension] });

const NOTE = silenceWav(0.5);
const TEXT = 'This is the text of a test recording.';
const KINDS = ['recording.transcribed', 'recording.failed', 'transcription.corrected'];

/** Details of an error that another test compares. */
const anything = expect.any(Object) as object;

type Pair = Credentials & { keyPrefix: string };

async function createKey(client: ApiClient, fields: object): Promise<Pair> {
  const { body } = await client.post('/v1/account/api-keys', { name: 'Key', ...fields }).expect(201);
  return { id: body.id, key: body.api_key, secret: body.api_secret, keyPrefix: body.key_prefix };
}

/** A client of the test account. */
async function testClient(live: ApiClient, fields: object = {}): Promise<ApiClient> {
  const credentials = await createKey(live, { mode: 'test', ...fields });
  const { body } = await new ApiClient(service.url, '', credentials).get('/v1/account').expect(200);
  return new ApiClient(service.url, body.id as string, credentials);
}

const uploaded = async (client: ApiClient, filename: string, audio = NOTE): Promise<string> =>
  (await client.upload(audio, {}, filename).expect(201)).body.id as string;

/** All that the account could see of recordings, as numbers. */
async function tracesIn(client: ApiClient): Promise<unknown> {
  const [list, search, feed, usage, quotas, account, hooks] = await Promise.all(
    [
      '/v1/recordings',
      '/v1/recordings?q=test',
      '/v1/events',
      '/v1/account/usage?days=1',
      '/v1/account/quotas',
      '/v1/account',
      '/v1/webhooks',
    ].map(async (path) => (await client.get(path).expect(200)).body),
  );
  return {
    listed: list.total,
    found: search.recordings.length,
    events: feed.events.length,
    usage: usage.items.map((item: object) => ({ ...item, day: null })),
    used: quotas.quotas.map(({ used }: { used: number }) => used),
    month: account.usage.current_month,
    webhooks: hooks.total,
  };
}

describe('D80: test keys', () => {
  it('have a form of their own, and their creation is answered as that of a live key', async () => {
    const live = await service.account();
    const fields = { name: 'CI', mode: 'test' };
    const { body } = await live.post('/v1/account/api-keys', fields).expect(201);
    expect(body.api_key).toMatch(/^vnk_test_[0-9A-Za-z]{24}$/);
    expect(body.key_prefix).toBe((body.api_key as string).slice(0, 12));
    expect(Object.keys(body as object).toSorted()).toEqual(Object.keys(CREATED_API_KEY).toSorted());
    const ofLive = await live.post('/v1/account/api-keys', { name: 'Live', mode: 'live' }).expect(201);
    expect(ofLive.body).toStrictEqual({ ...CREATED_API_KEY, name: 'Live' });
  });

  it('see the account by its name and plan, under an id of their own that all of them share', async () => {
    const live = await service.account('pro');
    const [one, other] = await Promise.all([testClient(live), testClient(live)]);
    expect(one.accountId).toBe(other.accountId);
    expect(one.accountId).not.toBe(live.accountId);
    const [{ body: ofLive }, { body: ofTest }] = await Promise.all([live.get('/v1/account'), one.get('/v1/account')]);
    const { id, name, email, plan, status } = ofLive;
    expect(ofTest).toStrictEqual({ ...ACCOUNT, id: one.accountId, name, email, plan, status });
    expect(ofTest.id).not.toBe(id);
    const { body } = await one.get('/v1/account/quotas').expect(200);
    expect(body.quotas.map(({ limit }: { limit: number | null }) => limit)).toEqual([268_435_456, null, null, 8]);
  });

  it('make only test keys, with no more scopes and no later expiry than their maker', async () => {
    const live = await service.account();
    const expires_at = '2031-01-01T00:00:00Z';
    const maker = await testClient(live, { scopes: ['account:read', 'account:write'], expires_at });
    const child = await createKey(maker, {});
    expect(child.keyPrefix).toMatch(/^vnk_test_/);
    const { body } = await live.get(`/v1/account/api-keys/${child.id}`).expect(200);
    expect(body).toMatchObject({ tenant_id: maker.accountId, created_by: maker.credentials.id });
    expect([body.expires_at, body.scopes]).toEqual(['2031-01-01T00:00:00', ['account:read', 'account:write']]);
    for (const mode of ['live', 'staging']) {
      const refused = await maker.post('/v1/account/api-keys', { name: 'Key', mode });
      expectError(refused, 'ValidationError', anything);
      expect(refused.body.error.details.field).toBe('mode');
    }
    expectError(await maker.get('/v1/account/api-keys?mode=live'), 'ValidationError', anything);
  });

  it('are listed on request, found and revoked by live keys, which they never see', async () => {
    const live = await service.account();
    expect((await live.get('/v1/account/api-keys?mode=test').expect(200)).body).toMatchObject({
      api_keys: [],
      total: 0,
    });
    const test = await testClient(live);
    const ids = async (client: ApiClient, query = '') =>
      (await client.get(`/v1/account/api-keys${query}`).expect(200)).body.api_keys.map(({ id }: { id: string }) => id);
    expect(await ids(live)).toEqual([live.credentials.id]);
    expect(await ids(live, '?mode=test')).toEqual([test.credentials.id]);
    expect(await ids(test)).toEqual([test.credentials.id]);
    expectError(await test.get(`/v1/account/api-keys/${live.credentials.id}`), 'NotFoundError', anything);
    expectError(await test.delete(`/v1/account/api-keys/${live.credentials.id}`), 'NotFoundError', anything);
    await live.delete(`/v1/account/api-keys/${test.credentials.id}`).expect(204);
    expectError(await test.get('/v1/account'), 'AuthenticationError', anything);
  });

  it('end with the live key that made them, and those that they made, if descendants are asked for', async () => {
    const live = await service.account();
    const maker = await service.key(live, [...SCOPES]);
    const test = await testClient(maker);
    const child = new ApiClient(service.url, test.accountId, await createKey(test, {}));
    await child.get('/v1/account').expect(200);
    await live.delete(`/v1/account/api-keys/${maker.credentials.id}?descendants=true`).expect(204);
    for (const client of [maker, test, child])
      expectError(await client.get('/v1/account'), 'AuthenticationError', anything);
  });

  it('are suspended, limited and named with their account, at once; the operator sees one account', async () => {
    const live = await service.account('free');
    const test = await testClient(live);
    const accounts = service.app.get(AccountService);
    await accounts.update(live.accountId, { status: 'suspended' });
    for (const client of [live, test]) expectError(await client.get('/v1/account'), 'AccountSuspendedError', anything);
    await accounts.update(live.accountId, { status: 'active', plan: 'enterprise', name: 'Renamed' });
    for (const client of [live, test]) {
      const { body } = await client.get('/v1/account').expect(200);
      expect([body.name, body.plan]).toEqual(['Renamed', 'enterprise']);
    }
    await expect(accounts.update(test.accountId, { name: 'Alone' })).rejects.toThrow(live.accountId);
    const ids: string[] = [];
    for await (const page of accounts.pages()) ids.push(...page.map(({ id }) => id));
    expect([ids.includes(live.accountId), ids.includes(test.accountId)]).toEqual([true, false]);
  });

  it('take from a rate limit of their own', async () => {
    const live = await service.account('free');
    const test = await testClient(live);
    const left = async (client: ApiClient) =>
      Number((await client.get('/v1/account')).headers['x-ratelimit-remaining']);
    for (let taken = 0; taken < 5; taken++) await test.get('/v1/account').expect(200);
    expect(await left(live)).toBeGreaterThan(await left(test));
  });
});

describe('D81: a test account', () => {
  let live: ApiClient;
  let test: ApiClient;

  beforeAll(async () => {
    live = await service.account();
    test = await testClient(live);
  });

  const FAILURES: [name: string, reason: RegExp][] = [
    ['failed', /^The file contains no audio that can be decoded\.$/],
    ['failed-no-audio', /^The file contains no audio that can be decoded\.$/],
    ['failed-language', /^Language not supported: german\. Supported: english\.$/],
    ['failed-too-long', /^The recording is longer than the maximum of 3600 seconds\.$/],
    ['failed-audio-lost', /^The audio is no longer in storage\.$/],
    ['failed-crashed', /^The engine crashed 5 times on this recording\.$/],
    ['failed-given-up', /^The transcription was given up after 20 attempts\.$/],
    ['failed-decoding-time', /^The file takes too long to decode\.$/],
    ['failed-codec', /^The file contains ac3, which is not a codec of wav files\.$/],
    ['failed-sample-rate', /^The sample rate of 2000 Hz is outside 4–192 kHz\.$/],
    ['failed-channels', /^The file has 12 channels; 1 to 8 can be decoded\.$/],
    ['failed-too-large', /^The transcription server refused the audio as too large\.$/],
    ['failed-rejected', /^The transcription server refused the audio$/],
    ['failed-quota', /^The audio is 61 s long, longer than its file says, and does not fit into the quota/],
  ];

  it('ends each recording as its name says, within a second, with the event at its webhook, while engines are busy', async () => {
    const receiver = await WebhookReceiver.listen();
    const { body: hook } = await test.post('/v1/webhooks', { url: receiver.url(), events: KINDS }).expect(201);
    engine.holdFrom(0);
    const busy = Array.from({ length: 5 }, () => live.upload('go-forward-ten-meters.wav').expect(201));
    const waiting = (await Promise.all(busy)).map(({ body }) => body.id as string);
    const cases: [name: string, status: string, detail: RegExp][] = [
      ['transcribed', 'transcribed', /^This is the text of a test recording\.$/],
      ['note of mine', 'transcribed', /^This is the text of a test recording\.$/],
      ['no-speech', 'transcribed', /^$/],
      ...FAILURES.map(([name, reason]) => [name, 'failed', reason] as [string, string, RegExp]),
    ];
    const times: number[] = [];
    for (const [name, status, detail] of cases) {
      const elapsed = startStopwatch();
      const id = await uploaded(test, `${name}.wav`);
      const isAbout = (request: { body: Buffer }) => JSON.parse(request.body.toString()).recording.id === id;
      const delivered = (await receiver.waitFor((requests) => requests.some(isAbout))).find(isAbout);
      const ms = Math.round(elapsed());
      reportMeasurement(`test account: ${name} → ${status} and its event in ${ms} ms`);
      times.push(ms);
      const event = JSON.parse(delivered!.body.toString());
      expect([name, event.event, event.error?.code]).toEqual([
        name,
        `recording.${status}`,
        status === 'failed' ? 'TRANSCRIPTION_FAILED' : undefined,
      ]);
      expect(signatureProblems(delivered!, hook.secret as string)).toEqual([]);
      const { body: recording } = await test.get(`/v1/recordings/${id}?include=transcription`).expect(200);
      expect([name, recording.status]).toEqual([name, status]);
      const said = status === 'failed' ? event.error.message : recording.transcription.text;
      expect([name, said]).toEqual([name, expect.stringMatching(detail)]);
    }
    // The median of what is promised for each: one may wait for the poll of a busy machine.
    expect(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]).toBeLessThan(1000);
    for (const id of waiting) expect((await live.get(`/v1/recordings/${id}`)).body.status).toBe('processing');
    engine.holdFrom(Infinity);
    await Promise.all(waiting.map((id) => live.finished(id)));
    await receiver.close();
  });

  it.each<[string, Parameters<typeof expectError>[1], object]>([
    ['quota.wav', 'QuotaExceededError', expect.objectContaining({ quota: 'audio_seconds_per_month', limit: 36_000 })],
    ['rate-limit.wav', 'RateLimitError', { retry_after: 2 }],
    ['unavailable.wav', 'ServiceUnavailableError', {}],
  ])('answers the upload of %s with a %s, and keeps nothing of it', async (name, type, details) => {
    const before = (await test.get('/v1/recordings').expect(200)).body.total;
    const refused = await test.upload(NOTE, {}, name).set('Idempotency-Key', name);
    expectError(refused, type, details);
    expect(refused.headers['retry-after']).toBe(type === 'QuotaExceededError' ? undefined : '2');
    expect((await test.get('/v1/recordings').expect(200)).body.total).toBe(before);
    // A live key uploads a file of this name like any other.
    await live.delete(`/v1/recordings/${await uploaded(live, name)}`).expect(204);
  });

  it('checks the audio as ever, and takes the length of it for a name', async () => {
    expectError(await test.upload(Buffer.from('no audio'), {}, 'transcribed.wav'), 'ValidationError', anything);
    const recording = await test.finished(await uploaded(test, 'note.wav', silenceWav(61, 8000)));
    expect(recording).toMatchObject({ status: 'transcribed', features: { no_speech: true, speech_seconds: 0 } });
    expectError(await test.upload(silenceWav(76, 8000), {}, 'note.wav'), 'RateLimitError', anything);
  });

  it('takes its time where it is asked to, and ends a retry well that may help', async () => {
    const began = Date.now();
    const id = await uploaded(test, 'slow-2.wav');
    expect((await test.get(`/v1/recordings/${id}`)).body.status).toBe('processing');
    expect(await test.finished(id)).toMatchObject({ status: 'transcribed' });
    expect(Date.now() - began).toBeGreaterThan(1900);
    reportMeasurement(`test account: slow-2 → transcribed after ${Date.now() - began} ms`);
    for (const [name, status] of [
      ['failed-given-up.wav', 'transcribed'],
      ['failed-codec.wav', 'failed'],
    ] as const) {
      const failed = await uploaded(test, name);
      expect(await test.finished(failed)).toMatchObject({ status: 'failed' });
      await test.post(`/v1/recordings/${failed}/retry`).expect(202);
      expect(await test.finished(failed)).toMatchObject({ status });
    }
  });

  it('has corrections, exports, search, the feed, audio and OpenAI’s interface as a live one', async () => {
    const id = await uploaded(test, 'transcribed.wav');
    await test.finished(id);
    await test.get(`/v1/recordings/${id}/audio`).expect(200);
    await test.get(`/v1/recordings/${id}/waveform`).expect(200);
    const srt = await test.get(`/v1/recordings/${id}/transcription?format=srt`).expect(200);
    expect(srt.text).toContain('00:00:00,000 -->');
    await test.put(`/v1/recordings/${id}/transcription`, { text: 'A corrected elephant.' }).expect(200);
    const { body: found } = await test.get('/v1/recordings?q=elephant').expect(200);
    expect(found.recordings.map((one: { id: string }) => one.id)).toEqual([id]);
    const { body: feed } = await test.get('/v1/events?limit=100').expect(200);
    const kinds = feed.events
      .filter(({ body }: { body: { recording?: { id: string } } }) => body.recording?.id === id)
      .map(({ event }: { event: string }) => event);
    expect(kinds).toEqual(['recording.accepted', 'recording.transcribed', 'transcription.corrected']);
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(NOTE)]), 'transcribed.wav');
    form.set('model', 'whisper-1');
    const answer = await fetch(`${service.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${test.credentials.key}.${test.credentials.secret}` },
      body: form,
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { text: TEXT }]);
  });

  it('leaves no trace in the live one, and neither reaches the recordings of the other', async () => {
    const ofLive = await service.account();
    const empty = await tracesIn(ofLive);
    const ofTest = await testClient(ofLive);
    expect(await tracesIn(ofLive)).toEqual(empty);
    await ofTest.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: KINDS }).expect(201);
    const testId = await uploaded(ofTest, 'transcribed.wav');
    await ofTest.finished(testId);
    await ofTest.finished(await uploaded(ofTest, 'failed.wav'));
    expect(await tracesIn(ofLive)).toEqual(empty);
    expect(await tracesIn(ofTest)).toMatchObject({ listed: 2, found: 1, events: 4, webhooks: 1 });

    const liveId = await uploaded(ofLive, 'failed.wav');
    await ofLive.finished(liveId);
    for (const [client, id] of [
      [ofLive, testId],
      [ofTest, liveId],
    ] as const) {
      for (const path of ['', '/transcription', '/audio', '/waveform'])
        expectError(await client.get(`/v1/recordings/${id}${path}`), 'NotFoundError', anything);
      expectError(await client.post(`/v1/recordings/${id}/retry`), 'NotFoundError', anything);
      expectError(await client.delete(`/v1/recordings/${id}`), 'NotFoundError', anything);
    }
    expect(await tracesIn(ofTest)).toMatchObject({ listed: 2 });
  });

  it('keeps its recordings for seven days, and live ones as long as they are', async () => {
    const [old, recent, ofLive] = [
      await uploaded(test, 'note.wav'),
      await uploaded(test, 'note.wav'),
      await uploaded(live, 'note.wav'),
    ];
    await Promise.all([test.finished(old), test.finished(recent), live.finished(ofLive)]);
    const age = (id: string, days: number) =>
      service.database.query(`UPDATE recordings SET created_at = now() - make_interval(days => $2) WHERE id = $1`, [
        id,
        days,
      ]);
    await Promise.all([age(old, 8), age(recent, 6), age(ofLive, 8)]);
    await eventually(async () => (await test.get(`/v1/recordings/${old}`)).status === 404);
    await test.get(`/v1/recordings/${recent}`).expect(200);
    await live.get(`/v1/recordings/${ofLive}`).expect(200);
  });
});
