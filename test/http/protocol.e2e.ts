import { get, type IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import request, { type Response, type Test } from 'supertest';
import type { ApiClient } from '../../src/testing/api-client.js';
import { startService, type TestService, useService } from '../../src/testing/test-service.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { checkRows } from '../support/check-rows.js';
import { exchange, head } from '../support/http/clients/raw-http.js';
import { OPERATIONS } from '../support/http/operations.js';
import { transcribe, upload } from '../support/state/recording-states.js';

const KEYS = '/v1/account/api-keys';
const ORIGIN = 'https://app.example.com';
const METRICS_TOKEN = 'a-token-for-the-metrics';

const service = useService({ ROLES: 'api' });
const { environment } = service;
let client: ApiClient;

beforeAll(async () => {
  client = await service.account();
});

const anonymous = (method: 'get' | 'post' | 'options' | 'head', path: string, at = service): Test =>
  request(at.url)[method](path);

async function withService(variables: Record<string, string>, work: (there: TestService) => Promise<void>) {
  const there = await startService(environment, { ROLES: 'api', ...variables });
  try {
    await work(there);
  } finally {
    await there.close();
  }
}

it('X-Request-Id is the client’s own when it is a plain one, and a new one otherwise, on every answer', async () => {
  const idOf = async (id: string) =>
    (await client.get('/v1/account').set('X-Request-Id', id)).headers['x-request-id'] as string;
  for (const id of ['a', 'A-Za-z0-9_-', '0'.repeat(64)]) expect(await idOf(id)).toBe(id);
  const made = ['', ' ', 'a b', 'a/b', '0'.repeat(65), 'ä', '<script>', 'a,b'].map(idOf);
  const anywhere = ['/health/live', '/openapi.json', '/nowhere', '/v1/nowhere', '/v1/account'].map(
    async (path) => (await anonymous('get', path)).headers['x-request-id'] as string,
  );
  const ids = await Promise.all([...made, ...anywhere]);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

describe('methods', () => {
  it('HEAD has the status that GET has', () =>
    checkRows<[path: string, headers: Record<string, string>, status: number]>(
      [
        ['/v1/recordings/x', client.headers, 404],
        [`${KEYS}?limit=0`, client.headers, 400],
        ['/v1/account/access-tokens', client.headers, 404],
        ['/v1/account', {}, 401],
        ['/health/live', {}, 200],
      ],
      async (path, headers, status) => expect((await anonymous('head', path).set(headers)).status).toBe(status),
    ));

  it('OPTIONS is 204 without credentials and without a body, on every path (D6)', async () => {
    const paths = [...new Set(OPERATIONS.map(({ path }) => path.replace(/:\w+/, 'x'))), '/v1/nowhere', '/nowhere'];
    for (const path of paths) {
      const answer = await anonymous('options', path);
      expect([path, answer.status, answer.text]).toEqual([path, 204, '']);
    }
  });

  it('none gives away what the service is built with', async () => {
    const { headers } = await client.get('/v1/account').expect(200);
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers).not.toHaveProperty('server');
  });
});

it('JSON is taken under any spelling of its type, and keeps letters of every script', async () => {
  const name = 'Größe 会議 العربية 🎙👩‍👩‍👧';
  for (const type of ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset="UTF-8"; x=y']) {
    const sending = request(service.url).post(KEYS).set(client.headers).set('Content-Type', type);
    expect((await sending.send(JSON.stringify({ name })).expect(201)).body.name).toBe(name);
  }
});

describe('CORS', () => {
  const preflight = (at: TestService, origin: string): Test =>
    anonymous('options', '/v1/recordings', at).set({
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,idempotency-key',
    });
  const corsHeaders = ({ headers }: Response) =>
    Object.keys(headers).filter((name) => name.startsWith('access-control'));
  const listOf = (header: string | undefined) => header?.toLowerCase().split(/, */);

  it('is off unless origins are named', async () => {
    const asked = await preflight(service, ORIGIN).expect(204);
    const got = await client.get('/v1/account').set('Origin', ORIGIN).expect(200);
    expect([...corsHeaders(asked), ...corsHeaders(got)]).toEqual([]);
  });

  it('answers a preflight without taking a token, lets scripts read our headers, and gives others nothing', () =>
    withService({ CORS_ORIGINS: `${ORIGIN},http://localhost:8080` }, async (open) => {
      const answer = await preflight(open, ORIGIN).expect(204);
      expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(answer.headers['access-control-allow-methods']).toMatch(/POST/);
      expect(listOf(answer.headers['access-control-allow-headers'])).toEqual(
        expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'x-request-id', 'x-upload-source']),
      );
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
      const again = await preflight(open, ORIGIN).expect(204);
      expect(again.headers['x-ratelimit-remaining']).toBe(answer.headers['x-ratelimit-remaining']);

      const there = client.at(open.url);
      const readable = await Promise.all([
        there.upload(silenceWav(0.1)).set('Origin', ORIGIN).expect(201),
        there.get('/v1/recordings/x').set('Origin', ORIGIN).expect(404),
        anonymous('get', '/v1/account', open).set('Origin', ORIGIN).expect(401),
      ]);
      const ours = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-request-id'];
      for (const { headers } of readable) {
        expect(headers['access-control-allow-origin']).toBe(ORIGIN);
        expect(listOf(headers['access-control-expose-headers'])).toEqual(
          expect.arrayContaining([...ours, 'retry-after', 'location']),
        );
      }

      for (const origin of ['https://evil.example', `${ORIGIN}.evil.example`, 'http://app.example.com', 'null']) {
        const asked = await preflight(open, origin).expect(204);
        const got = await there.get('/v1/account').set('Origin', origin).expect(200);
        for (const { headers } of [asked, got]) expect(headers).not.toHaveProperty('access-control-allow-origin');
      }
    }));
});

describe('outside /v1 (D31)', () => {
  it('/health says that the process runs, to probes with parameters too, and what an api needs', async () => {
    expect((await anonymous('get', '/health/live').expect(200)).body).toEqual({ status: 'ok' });
    await anonymous('get', '/health/live?probe=1').expect(200);
    const { body } = await anonymous('get', '/health/ready').expect(200);
    expect(body).toEqual({ status: 'ok', checks: { postgres: 'ok', storage: 'ok', redis: 'ok' } });
  });

  it('/metrics is for Prometheus, and its labels hold nothing that a client chose', async () => {
    const id = await upload(client);
    await client.get(`/v1/recordings/${id}`).expect(200);
    await client.get('/v1/nowhere-at-all').expect(404);
    const { text } = await anonymous('get', '/metrics')
      .expect(200)
      .expect('Content-Type', /^text\/plain/);
    expect(text).toMatch(/^http_request_duration_seconds_count\{.*route="\/v1\/recordings\/:recording_id".*\} \d+$/m);
    expect(text).not.toContain(id);
    expect(text).not.toContain('nowhere-at-all');
  });

  it('/metrics asks for METRICS_TOKEN where there is one, and /health/ready gives details for it', () =>
    withService({ METRICS_TOKEN, TRUST_PROXY: '1' }, async (guarded) => {
      const ask = (path: string, authorization?: string) =>
        anonymous('get', path, guarded).set(
          authorization ? { Authorization: authorization, 'X-Forwarded-For': '1.2.3.4' } : {},
        );
      for (const wrong of [undefined, 'Bearer wrong', METRICS_TOKEN, `Basic ${METRICS_TOKEN}`]) {
        const { status, body } = await ask('/metrics', wrong);
        expect([status, body.error]).toMatchObject([401, { code: 1001, type: 'AuthenticationError', details: {} }]);
        expect((await ask('/health/ready', wrong).expect(200)).body).toEqual({ status: 'ok' });
      }
      await ask('/metrics', `Bearer ${METRICS_TOKEN}`).expect(200);
      const { body } = await ask('/health/ready', `Bearer ${METRICS_TOKEN}`).expect(200);
      expect(body).toMatchObject({ checks: { postgres: 'ok' } });
    }));

  it('/metrics without a token answers the machine itself in production, and nobody behind a proxy', async () => {
    await withService({ NODE_ENV: 'production' }, async (open) => {
      await anonymous('get', '/metrics', open).expect(200);
      for (const [name, value] of [
        ['X-Forwarded-For', '203.0.113.9'],
        ['X-Forwarded-For', '127.0.0.1'],
        ['Forwarded', 'for=127.0.0.1'],
        ['X-Real-IP', '127.0.0.1'],
        ['Via', '1.1 proxy'],
      ] as const) {
        await anonymous('get', '/metrics', open).set(name, value).expect(401);
      }
    });
    await withService({ NODE_ENV: 'production', TRUST_PROXY: '1' }, async (proxied) => {
      await anonymous('get', '/metrics', proxied).expect(401);
    });
  });

  it('/.well-known/security.txt says where to report vulnerabilities, where SECURITY_CONTACT does (RFC 9116)', async () => {
    const path = '/.well-known/security.txt';
    expect((await anonymous('get', path).expect(404)).body.error.type).toBe('NotFoundError');
    const SECURITY_CONTACT = 'mailto:security@example.com,https://example.com/report';
    await withService({ SECURITY_CONTACT, CONSOLE: 'off' }, async (named) => {
      const { text, headers } = await anonymous('get', path, named).expect(200);
      expect(headers['content-type']).toBe('text/plain; charset=utf-8');
      const [, expires = ''] = /^Expires: (.*)$/m.exec(text) ?? [];
      expect(text).toBe(
        'Contact: mailto:security@example.com\nContact: https://example.com/report\n' +
          `Expires: ${expires}\nPreferred-Languages: en\n`,
      );
      expect(expires).toMatch(/^\d{4}-\d\d-\d\dT00:00:00Z$/);
      const days = (Date.parse(expires) - Date.now()) / 86_400_000;
      expect([days > 88, days <= 90]).toEqual([true, true]);
      const withoutBody = await anonymous('head', path, named).expect(200);
      expect(withoutBody.headers['content-length']).toBe(headers['content-length']);
      await anonymous('post', path, named).expect(404);
    });
  });

  it('/docs shows the API, and /openapi.json is sent again only when it has changed', async () => {
    for (const path of ['/docs', '/docs/']) await anonymous('get', path).expect(200).expect('Content-Type', /html/);
    const first = await fetch(`${service.url}/openapi.json`);
    const etag = first.headers.get('etag') ?? '';
    expect(first.headers.get('content-encoding')).toBe('gzip');
    const { openapi, paths } = (await first.json()) as { openapi: string; paths: object };
    expect(openapi).toMatch(/^3\./);
    expect(Object.keys(paths)).toContain('/v1/recordings/{recording_id}/transcription');
    const plain = await exchange(service.url, head('GET', '/openapi.json'));
    expect(plain.headers).toMatchObject({ etag, 'content-type': 'application/json; charset=utf-8' });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const again = await exchange(service.url, head('GET', '/openapi.json', [['If-None-Match', etag]]));
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('a worker serves its health and its figures, and nothing else', () =>
    withService({ ROLES: 'worker' }, async (worker) => {
      await anonymous('get', '/health/live', worker).expect(200);
      const { body } = await anonymous('get', '/health/ready', worker);
      expect(Object.keys(body.checks)).toEqual(expect.arrayContaining(['postgres', 'storage', 'redis']));
      expect(Object.keys(body.checks).length).toBeGreaterThan(3);
      await anonymous('get', '/metrics', worker).expect(200);
      for (const path of ['/v1/account', '/v1/nowhere', '/docs', '/openapi.json', '/', '/health', '/metrics/x']) {
        const { status, body: answer } = await anonymous('get', path, worker).set(client.headers);
        expect([path, status, answer.error?.code]).toEqual([path, 404, 3001]);
      }
    }));
});

describe('compression (D61)', () => {
  let note: string;

  beforeAll(async () => {
    const id = await upload(client);
    const words = Array.from({ length: 3000 }, (_, i) => ({
      word: `word${i}`,
      start: i / 30_000,
      end: i / 30_000,
      confidence: 0.5,
    }));
    await transcribe(service, id, { text: words.map(({ word }) => word).join(' '), words });
    note = `/v1/recordings/${id}`;
  });

  /** As it is on the wire: other clients decompress without a word. */
  async function raw(
    path: string,
    encoding?: string,
    method = 'GET',
  ): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
    const headers = { ...client.headers, ...(encoding !== undefined && { 'accept-encoding': encoding }) };
    return await new Promise((resolve, reject) => {
      const sent = get(`${service.url}${path}`, { headers, method }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }));
      });
      sent.on('error', reject);
    });
  }

  it('makes a transcript, its forms and long lists smaller, and changes nothing else', async () => {
    for (const path of [`${note}/transcription`, `${note}/transcription?format=srt`, `${note}?include=transcription`]) {
      const plain = await raw(path, 'identity');
      expect(plain.headers['content-encoding']).toBeUndefined();
      for (const [encoding, plainOf] of [
        ['gzip', gunzipSync],
        ['br', brotliDecompressSync],
      ] as const) {
        const packed = await raw(path, encoding);
        expect(packed.headers['content-encoding']).toBe(encoding);
        expect(packed.headers.vary).toContain('Accept-Encoding');
        expect(plainOf(packed.bytes).equals(plain.bytes)).toBe(true);
        expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
        expect(packed.headers['content-type']).toBe(plain.headers['content-type']);
        expect(packed.headers.etag).toBe(plain.headers.etag);
      }
    }
  });

  it('leaves alone what is short, audio, streams, and what the client does not take', async () => {
    for (const path of [note, '/v1/account', `${note}/audio`]) {
      const { headers, bytes } = await raw(path, 'gzip, br');
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers['content-length']).toBe(`${bytes.length}`);
    }
    for (const encoding of [undefined, 'identity', 'gzip;q=0', 'zip']) {
      const { headers } = await raw(`${note}/transcription`, encoding);
      expect([encoding, headers['content-encoding']]).toEqual([encoding, undefined]);
    }
    const stream = await fetch(`${service.url}/v1/events/stream`, { headers: client.headers });
    expect(stream.headers.get('content-encoding')).toBeNull();
    await stream.body?.cancel();
  });

  it('answers HEAD without a body, and 304 as before', async () => {
    const { headers, bytes } = await raw(`${note}/transcription`, 'gzip', 'HEAD');
    expect(bytes).toHaveLength(0);
    expect(headers.etag).toBeDefined();
    await client
      .get(`${note}/transcription`)
      .set('If-None-Match', headers.etag as string)
      .expect(304);
  });
});
