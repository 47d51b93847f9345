import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import request from 'supertest';
import { LiveSignalsService } from '../../../src/modules/live/live-signals.service.js';
import type { LiveSignal } from '../../../src/modules/live/live-signals.js';
import { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { SPEECH } from '../../../src/testing/speech.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { LiveClient } from '../../support/http/clients/live-client.js';
import { expectNoConnections } from '../../support/http/expect-unharmed.js';
import { head, RawConnection } from '../../support/http/clients/raw-http.js';

const PCM = '?format=pcm16&sample_rate=16000';
const ORIGIN = 'https://app.example.com';
/** A tenth of a second. */
const PIECE = Buffer.alloc(3200, 1);

const service = useService({ ROLES: 'api', CORS_ORIGINS: ORIGIN });
let owner: ApiClient;

beforeAll(async () => {
  owner = await service.account();
});
afterEach(() => {
  LiveClient.closeAll();
  RawConnection.destroyAll();
});

const open = (query = PCM, account = owner, url = service.url): Promise<LiveClient> =>
  LiveClient.open(url, query, { headers: account.headers });
const refused = (query = PCM, headers: Record<string, string> = owner.headers, protocols: string[] = []) =>
  LiveClient.refused(service.url, query, { headers }, protocols);

const publish = (id: string, ...signals: LiveSignal[]): void => {
  for (const signal of signals) service.app.get(LiveSignalsService).publishWords(id, signal);
};

async function started(client: LiveClient): Promise<string> {
  return (await client.next('started')).recording_id as string;
}

/** What the recording consists of now. */
async function storedAudio(id: string): Promise<Buffer> {
  const rows = await service.database.query<{ audio: Buffer }>(
    'SELECT audio FROM live_audio WHERE recording_id = $1 ORDER BY byte_offset',
    [id],
  );
  return Buffer.concat(rows.map(({ audio }) => audio));
}

async function endOf(id: string): Promise<string | null | undefined> {
  const [row] = await service.database.query<{ reason: string | null }>(
    'SELECT end_reason AS reason FROM live_recordings WHERE recording_id = $1',
    [id],
  );
  return row?.reason;
}

describe('a request for a WebSocket', () => {
  it('is answered with the headers of the service, and takes one request of the limit', async () => {
    const account = await service.account('free');
    const headers = await new Promise<Record<string, unknown>>((resolve) => {
      void LiveClient.open(service.url, PCM, {
        headers: { ...account.headers, 'X-Request-Id': 'mine' },
        finishRequest: (sending) => {
          sending.once('upgrade', (response) => resolve(response.headers));
          sending.end();
        },
      });
    });
    expect(headers).toMatchObject({
      'x-request-id': 'mine',
      'x-service-scopes': expect.stringContaining('recordings'),
      'x-ratelimit-remaining': `${Number(headers['x-ratelimit-limit']) - 1}`,
    });
  });

  it('is refused as every other request: credentials, scope, parameters, recordings', async () => {
    const reader = await service.key(owner, ['recordings:read']);
    const stranger = await open(PCM, await service.account());
    const foreign = await started(stranger);
    const cases: [Promise<Awaited<ReturnType<typeof refused>>>, number, string, string?][] = [
      [refused(PCM, {}), 401, 'AuthenticationError'],
      [refused(PCM, { Authorization: 'Bearer vnk_x.vns_y' }), 401, 'AuthenticationError'],
      [refused(PCM, reader.headers), 403, 'PermissionError'],
      [refused(PCM, { ...owner.headers, Origin: 'https://evil.example.com' }), 403, 'PermissionError'],
      [refused(''), 400, 'ValidationError', 'format'],
      [refused('?format=mp3'), 400, 'ValidationError', 'format'],
      [refused('?format=pcm16'), 400, 'ValidationError', 'sample_rate'],
      [refused('?format=pcm16&sample_rate=11025'), 400, 'ValidationError', 'sample_rate'],
      [refused('?format=webm&sample_rate=16000'), 400, 'ValidationError', 'sample_rate'],
      [refused('?intent=transcription&format=webm'), 400, 'ValidationError', 'format'],
      [refused('?intent=conversation'), 400, 'ValidationError', 'intent'],
      [refused('?intent=transcription&call_id=x'), 400, 'ValidationError', 'call_id'],
      [refused(`${PCM}&language=klingon`), 400, 'ValidationError', 'language'],
      [refused(`${PCM}&vocabulary=[1]`), 400, 'ValidationError', 'vocabulary'],
      [refused(`${PCM}&title=a&title=b`), 400, 'ValidationError', 'title'],
      [refused(`${PCM}&speakers=21`), 400, 'ValidationError', 'speakers'],
      [refused(`${PCM}&diarize=yes`), 400, 'ValidationError', 'diarize'],
      [refused(`${PCM}&diarize=false&speakers=2`), 400, 'ValidationError', 'diarize'],
      [refused(`${PCM}&custom_tags=x`), 400, 'ValidationError', 'custom_tags'],
      [refused('?intent=transcription&speakers=some'), 400, 'ValidationError', 'speakers'],
      [refused('?intent=transcription&custom_tags={"a":1}'), 400, 'ValidationError', 'custom_tags'],
      [refused(`${PCM}&recording=${foreign}`), 404, 'NotFoundError'],
      [refused(`${PCM}&recording=x`), 404, 'NotFoundError'],
      [refused(PCM, owner.headers, ['other']), 400, 'ValidationError', 'Sec-WebSocket-Protocol'],
    ];
    for (const [asking, status, type, field] of cases) {
      const answer = await asking;
      expect([answer.status, answer.body.error.type, answer.body.error.details.field]).toEqual([status, type, field]);
      expect(answer.headers).toMatchObject({
        'x-request-id': expect.any(String),
        'x-ratelimit-limit': expect.any(String),
        'cache-control': 'no-store',
        connection: 'close',
      });
    }
  });

  it('is 426 for an ordinary request, and 400 for a wrong handshake', async () => {
    const answer = await owner.get(`/v1/realtime${PCM}`).expect(426);
    expect(answer.body.error).toMatchObject({ code: 2002, message: expect.stringContaining('wss://') });
    expect(answer.headers.upgrade).toBe('websocket');

    const connection = await RawConnection.open(service.url);
    const headers = Object.entries({
      ...owner.headers,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'short',
    });
    await connection.send(head('GET', `/v1/realtime${PCM}`, headers));
    expect(await connection.answer()).toMatchObject({ status: 400 });
    await expectNoConnections(service, 5000);
  });

  it('is an ordinary request at any other path, or for any other protocol', async () => {
    const upgrading = { Connection: 'Upgrade', Upgrade: 'websocket' };
    await owner.get('/v1/account').set(upgrading).expect(200);
    await request(service.url).get('/v1/nowhere').set(upgrading).expect(404);
    await owner.get('/v1/account').set({ Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c' }).expect(200);
    await owner.get(`/v1/realtime${PCM}`).set({ Connection: 'Upgrade', Upgrade: 'h2c' }).expect(426);
  });

  it('takes the credentials of a page as a subprotocol, and never answers with it', async () => {
    const { key, secret } = owner.credentials;
    const { body } = await owner.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
    const token = body.token as string;
    for (const credentials of [`${key}.${secret}`, token]) {
      const protocols = ['realtime', `openai-insecure-api-key.${credentials}`, 'openai-beta.realtime-v1'];
      const client = await LiveClient.open(service.url, PCM, { headers: { Origin: ORIGIN } }, protocols);
      expect(client.socket.protocol).toBe('realtime');
      const id = await started(client);
      const { body: recording } = await owner.get(`/v1/recordings/${id}`).expect(200);
      expect(recording.user_id).toBe(credentials === token ? 'user-1' : null);
    }
    const own = service.url;
    const client = await LiveClient.open(own, PCM, { headers: { ...owner.headers, Origin: own } });
    await started(client);
    expect(
      (await LiveClient.refused(own, PCM, {}, ['realtime', `openai-insecure-api-key.${key}.vns_wrong`])).status,
    ).toBe(401);
  });
});

describe('the plain protocol', () => {
  it('stores what is sent, says how far, and passes on the words', async () => {
    const tags = encodeURIComponent('{"ticket":"T-1042"}');
    const client = await open(`${PCM}&title=Standup&language=english&diarize=true&custom_tags=${tags}`);
    const id = await started(client);
    const audio = randomBytes(64_000);
    for (let at = 0; at < audio.length; at += 3200) client.send(audio.subarray(at, at + 3200));
    await client.next('stored', ({ bytes }) => bytes === 64_000);
    expect(client.all('stored').at(-1)).toEqual({ type: 'stored', bytes: 64_000, seconds: 2 });
    expect((await storedAudio(id)).equals(audio)).toBe(true);
    const { body } = await owner.get(`/v1/recordings/${id}?include=title`).expect(200);
    expect(body).toMatchObject({ status: 'processing', title: 'Standup', custom_tags: { ticket: 'T-1042' } });
    const sql = 'SELECT speakers FROM recordings WHERE id = $1';
    expect(await service.database.query(sql, [id])).toEqual([{ speakers: 0 }]);

    publish(id, { type: 'speech_started', item: 0, at: 0.5 });
    publish(id, { type: 'delta', item: 0, offset: 0, text: 'good', words: [] });
    publish(id, { type: 'delta', item: 0, offset: 4, text: ' morning', words: [] });
    publish(id, { type: 'final', item: 0, text: 'good morning', start: 0.5, end: 1.5 });
    await client.next('final');
    client.send({ type: 'finish' });
    await eventually(async () => (await endOf(id)) === 'finished');
    publish(id, { type: 'final', item: 1, text: 'bye', start: 1.6, end: 2 }, { type: 'finished' });
    expect((await client.end()).code).toBe(1000);
    const words = client.messages.filter(({ type }) => !['started', 'stored'].includes(type));
    expect(words).toEqual([
      { type: 'speech_started', item: 0, at: 0.5 },
      { type: 'partial', item: 0, text: 'good' },
      { type: 'partial', item: 0, text: ' morning' },
      { type: 'speech_stopped', item: 0, at: 1.5 },
      { type: 'final', item: 0, text: 'good morning', start: 0.5, end: 1.5 },
      { type: 'speech_started', item: 1, at: 1.6 },
      { type: 'speech_stopped', item: 1, at: 2 },
      { type: 'partial', item: 1, text: 'bye' },
      { type: 'final', item: 1, text: 'bye', start: 1.6, end: 2 },
      { type: 'ended', reason: 'finished', recording_id: id },
    ]);
  });

  it('is taken of a test key, without words and with the text of its script', async () => {
    const worker = await startService(service.environment, { ROLES: 'worker' });
    const { body } = await owner.post('/v1/account/api-keys', {
      name: 'Test',
      mode: 'test',
      scopes: ['recordings:read', 'recordings:write'],
    });
    const { id: key, api_key: name, api_secret: secret } = body as Record<'id' | 'api_key' | 'api_secret', string>;
    const tester = new ApiClient(service.url, owner.accountId, { id: key, key: name, secret });
    const client = await open(PCM, tester);
    const id = await started(client);
    expect(await client.next('problem')).toEqual({
      type: 'problem',
      message: 'A test key has no words while one speaks.',
    });
    client.send(PIECE);
    client.send({ type: 'finish' });
    expect(await client.end()).toMatchObject({ code: 1000 });
    expect(await tester.finished(id)).toMatchObject({ status: 'transcribed' });
    await owner.get(`/v1/recordings/${id}`).expect(404);
    await worker.close();
  });

  it('takes what a browser records', async () => {
    const webm = await readFile(join(SPEECH, 'ss-0880.mediarecorder.webm'));
    const client = await open('?format=webm');
    const id = await started(client);
    for (let at = 0; at < webm.length; at += 1000) client.send(webm.subarray(at, at + 1000));
    await client.next('stored', ({ bytes }) => bytes === webm.length);
    expect(client.all('stored').at(-1)).toEqual({ type: 'stored', bytes: webm.length, seconds: null });
    client.socket.close(1000);
    await eventually(async () => (await endOf(id)) === 'finished');
    expect((await storedAudio(id)).equals(webm)).toBe(true);
  });

  it('goes on after a broken connection at the byte that is stored, also at another process', async () => {
    const other = await startService(service.environment, { ROLES: 'api' });
    const audio = randomBytes(12_000);
    const client = await open();
    const id = await started(client);
    client.send(audio.subarray(0, 5001));
    await client.next('stored');
    client.socket.terminate();
    const again = await open(`${PCM}&recording=${id}`, owner, other.url);
    expect(await again.next('resumed')).toEqual({ type: 'resumed', recording_id: id, stored_bytes: 5001 });
    again.send(audio.subarray(5001));
    await again.next('stored', ({ bytes }) => bytes === 12_000);
    expect((await storedAudio(id)).equals(audio)).toBe(true);
    expect(await endOf(id)).toBeNull();
    expect((await refused(`?format=webm&recording=${id}`)).body.error.details).toMatchObject({ field: 'format' });

    again.send({ type: 'finish' });
    publish(id, { type: 'finished' });
    await eventually(async () => (await endOf(id)) !== null);
    expect((await refused(`${PCM}&recording=${id}`)).status).toBe(409);
    await other.close();
  });

  it('closes the connection that another one takes the place of, here or at another process', async () => {
    const other = await startService(service.environment, { ROLES: 'api' });
    const first = await open();
    const id = await started(first);
    const second = await open(`${PCM}&recording=${id}`, owner, other.url);
    expect(await first.end()).toMatchObject({ code: 4009 });
    const third = await open(`${PCM}&recording=${id}`);
    expect(await second.end()).toMatchObject({ code: 4009 });
    third.send(PIECE);
    await third.next('stored');
    expect(third.closed).toBeNull();
    await other.close();
  });

  it('refuses wrong messages one by one, and too many of them with the connection', async () => {
    const client = await open();
    client.send('{"type":"stop"}');
    expect(await client.next('error')).toMatchObject({ error: { code: 2001, details: { field: 'type' } } });
    client.send(PIECE);
    await client.next('stored');
    for (let i = 0; i < 100; i++) client.send('{');
    expect(await client.end()).toMatchObject({ code: 4000 });
    expect(client.all('error')).toHaveLength(100);
  });

  it('closes for a message that is too large, a deleted recording, and a revoked key', async () => {
    const large = await open();
    large.send(Buffer.alloc(2 * 1024 * 1024 + 1));
    expect(await large.end()).toMatchObject({ code: 1009 });

    const key = await service.key(owner, ['recordings:write']);
    const [deleted, revoked] = await Promise.all([open(), open(PCM, key)]);
    const id = await started(deleted);
    await owner.delete(`/v1/account/api-keys/${key.credentials.id}`).expect(204);
    await owner.delete(`/v1/recordings/${id}`).expect(204);
    deleted.send(PIECE);
    expect(await deleted.end()).toMatchObject({ code: 4004 });
    expect(deleted.messages.at(-1)).toEqual({ type: 'ended', reason: 'deleted', recording_id: id });
    expect(await revoked.end()).toMatchObject({ code: 4001 });
  });

  it('tells of open connections in the metrics', async () => {
    const client = await open();
    client.send(PIECE);
    await client.next('stored');
    const { text } = await request(service.url).get('/metrics').expect(200);
    expect(text).toMatch(/^live_connections [1-9]\d*$/m);
    expect(text).toMatch(/^live_audio_bytes_total [1-9]\d*$/m);
  });
});

describe('a client that does not keep up', () => {
  it('is cut off when it sends no audio, and can go on', async () => {
    const other = await startService(service.environment, { ROLES: 'api', LIVE_SILENCE_SECONDS: '1' });
    const client = await open(PCM, owner, other.url);
    const id = await started(client);
    client.send(PIECE);
    expect(await client.end()).toMatchObject({ code: 4008 });
    expect(await endOf(id)).toBeNull();
    const again = await open(`${PCM}&recording=${id}`);
    expect(await again.next('resumed')).toMatchObject({ stored_bytes: PIECE.length });
    await other.close();
  });

  it('is cut off when it reads nothing, and can go on', async () => {
    const client = await open();
    const id = await started(client);
    client.socket.pause();
    // More than the buffers of both sides hold.
    const text = 'word '.repeat(40_000);
    for (let item = 0; item < 100; item++) publish(id, { type: 'final', item, text, start: item, end: item + 1 });
    const lines = /^live_connections (\d+)$/m;
    await eventually(async () => lines.exec((await request(service.url).get('/metrics')).text)?.[1] === '0');
    client.socket.resume();
    // The close frame stands behind what was not read.
    expect([4013, 1006]).toContain((await client.end()).code);
    expect(client.all('final').length).toBeLessThan(100);
    expect(await endOf(id)).toBeNull();
  });
});

describe('a process that stops', () => {
  it('stores what came, and sends its clients to others', async () => {
    const other = await startService(service.environment, { ROLES: 'api' });
    const client = await open(PCM, owner, other.url);
    const id = await started(client);
    client.send(PIECE);
    client.send(PIECE);
    await eventually(async () => client.all('stored').length > 0);
    await other.close();
    expect(await client.end()).toMatchObject({ code: 1012 });
    const again = await open(`${PCM}&recording=${id}`);
    const { stored_bytes: stored } = await again.next('resumed');
    expect(stored).toBe(client.all('stored').at(-1)?.bytes);
    expect(stored).toBe(6400);
  });
});
