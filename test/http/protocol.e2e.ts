import { deflateSync, gzipSync } from 'node:zlib';
import request, { type Response, type Test } from 'supertest';
import { silenceWav } from '../support/audio/audio-bytes.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { call, NAMED_OPERATIONS, nameOf, OPERATIONS, SharedResources } from '../support/http/operations.js';
import { exchange, head } from '../support/http/clients/raw-http.js';
import { expectHeaders, expectInvalid, expectInvalidOf, expectError } from '../support/http/expect-errors.js';
import { transcribesAtOnce } from '../support/service/instant-transcriber.js';
import { startService, type TestService, useService } from '../../src/testing/test-service.js';
import { fail, upload } from '../support/state/recording-states.js';

const KEYS = '/v1/account/api-keys';
const MAX_JSON_BYTES = 102_400;
const ORIGIN = 'https://app.example.com';
const CREATE_KEY = { name: 'A key' };

describe('HTTP', () => {
  let client: ApiClient;
  let resources: SharedResources;

  const service = useService({ ROLES: 'api' }, { extensions: [transcribesAtOnce] });
  const { environment } = service;

  beforeAll(async () => {
    client = await service.account();
    resources = new SharedResources(service, client);
  });

  const anonymous = (method: 'get' | 'post' | 'options' | 'head', path: string, at = service): Test =>
    request(at.url)[method](path);
  const withHead = (path: string): Test => request(service.url).head(path).set(client.headers);

  describe('limit headers (D6)', () => {
    const answers: [string, number, () => Promise<Response>][] = [
      ['a success', 200, () => client.get('/v1/account')],
      ['a creation', 201, () => client.post(KEYS, CREATE_KEY)],
      [
        'a retry',
        202,
        async () => {
          const id = await upload(client);
          await fail(service, id);
          return await client.post(`/v1/recordings/${id}/retry`);
        },
      ],
      [
        'a deletion',
        204,
        async () => {
          const other = await service.account();
          return await other.delete(`${KEYS}/${other.credentials.id}`);
        },
      ],
      ['OPTIONS', 204, () => anonymous('options', '/v1/account')],
      ['HEAD', 200, () => withHead('/v1/account')],
      ['JSON that cannot be read', 400, () => client.post(KEYS).type('json').send('{')],
      ['a form that cannot be read', 400, () => client.post('/v1/recordings', {})],
      ['a URL that cannot be read', 400, () => client.get('/v1/recordings/%ff')],
      ['a broken rule', 400, () => client.get(`${KEYS}?limit=0`)],
      ['no credentials', 401, () => anonymous('get', '/v1/account')],
      ['a missing scope', 403, async () => (await service.key(client, ['webhooks:read'])).get('/v1/account')],
      ['nothing there', 404, () => client.get(`${KEYS}/x`)],
      ['an unknown path', 404, () => anonymous('get', '/v1/nowhere')],
      ['an unknown path, to HEAD', 404, () => anonymous('head', '/v1/nowhere')],
      ['a conflict', 409, async () => await client.post(`/v1/recordings/${await upload(client)}/retry`)],
      ['too large a body', 413, () => client.post(KEYS, { name: 'x'.repeat(MAX_JSON_BYTES) })],
      [
        'the exhausted limit',
        429,
        async () => {
          const free = await service.account('free');
          const all = await Promise.all(Array.from({ length: 25 }, () => free.get('/v1/account')));
          return all.find(({ status }) => status === 429) ?? (all[0] as Response);
        },
      ],
    ];

    it.each(answers)('are on the answer to %s: %i', async (_, status, ask) => {
      const answer = await ask();

      expect(answer.status).toBe(status);
      expectHeaders(answer);
    });

    it('count a HEAD, and no OPTIONS', async () => {
      const free = await service.account('free');
      const left = async (method: 'head' | 'options') =>
        (await request(service.url)[method]('/v1/account').set(free.headers)).headers['x-ratelimit-remaining'];

      expect([await left('head'), await left('head')]).toEqual(['9', '8']);
      await left('options');
      expect(await left('head')).toBe('7');
      expect(await left('options')).toBe(await left('options'));
    });

    it('are on nothing outside /v1', async () => {
      for (const path of ['/', '/v2', '/health/live', '/metrics', '/openapi.json', '/v10/account']) {
        expect((await anonymous('get', path)).headers).not.toHaveProperty('x-ratelimit-limit');
      }
    });
  });

  describe('X-Request-Id', () => {
    it.each(['a', 'A-Za-z0-9_-', '0'.repeat(64)])('keeps the client’s own when it is a plain one: %s', async (id) => {
      const answer = await client.get('/v1/account').set('X-Request-Id', id);

      expect(answer.headers['x-request-id']).toBe(id);
    });

    it.each(['', ' ', 'a b', 'a/b', '0'.repeat(65), 'ä', '<script>', 'a,b'])('replaces any other: %j', async (id) => {
      const answer = await client.get('/v1/account').set('X-Request-Id', id);

      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    });

    it.each(['/health/live', '/openapi.json', '/nowhere', '/v1/nowhere', '/v1/account'])('is on %s', async (path) => {
      const [a, b] = await Promise.all([anonymous('get', path), anonymous('get', path)]);

      expect(a.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(a.headers['x-request-id']).not.toBe(b.headers['x-request-id']);
    });

    it('is on what Node’s parser refuses, too, with the envelope and without limits (D6)', async () => {
      const answer = await exchange(service.url, 'GET /v1/account HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n');

      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ error: { code: 2002, type: 'MalformedRequestError', details: {} } });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(answer.headers).not.toHaveProperty('x-ratelimit-limit');
    });
  });

  describe('methods', () => {
    const reading = NAMED_OPERATIONS.filter(([, { method }]) => method === 'GET');

    it.each(reading)('HEAD answers as %s, without a body', async (_, operation) => {
      const ids = await resources.of(operation);
      const got = await call(client, operation, ids).expect(200);
      const headed = await withHead(got.request.url.slice(service.url.length)).expect(200);

      expect(headed.text).toBeFalsy();
      expect(headed.headers['content-type']).toBe(got.headers['content-type']);
      expectHeaders(headed);
    });

    it('HEAD has the status that GET has', async () => {
      await withHead('/v1/recordings/x').expect(404);
      await withHead(`${KEYS}?limit=0`).expect(400);
      await anonymous('head', '/v1/account').expect(401);
      await withHead('/v1/account/access-tokens').expect(404);
      await anonymous('head', '/health/live').expect(200);
    });

    it('OPTIONS is 204 without credentials and without a body, on every path (D6)', async () => {
      const paths = [...new Set(OPERATIONS.map(({ path }) => path.replace(/:\w+/, 'x'))), '/v1/nowhere', '/nowhere'];
      for (const path of paths) {
        const answer = await anonymous('options', path);
        expect([path, answer.status, answer.text]).toEqual([path, 204, '']);
      }
    });

    it('no operation gives away what it is built with', async () => {
      const { headers } = await client.get('/v1/account').expect(200);

      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('server');
    });
  });

  it.each(['http://voice-notes.test/v1/account', '/v1/account#fragment', 'HTTP://voice-notes.test:80/v1/account'])(
    'a request line may name the target as %s',
    async (target) => {
      const answer = await exchange(service.url, head('GET', target, Object.entries(client.headers)));

      expect(answer.status).toBe(200);
      expectHeaders(answer);
    },
  );

  it.each(NAMED_OPERATIONS)('%s refuses an unknown query parameter, naming it (D16)', async (_, operation) => {
    const { owner, ids } = await resources.forSuccess(operation);

    expectInvalidOf(operation, await call(owner, operation, ids, '?fo%20o=1'), 'fo o', /not a parameter/);
    expectInvalidOf(operation, await call(owner, operation, ids, '?__proto__=1'), '__proto__', /not a parameter/);
    expect((await call(owner, operation, ids)).status).toBe(operation.success);
  });

  describe('JSON bodies', () => {
    const taking = OPERATIONS.filter(({ body }) => typeof body === 'object');

    /** To every operation that takes JSON, with what it needs to succeed. */
    async function sendAll(body: string | Buffer, headers: Record<string, string> = {}): Promise<Response[]> {
      return await Promise.all(
        taking.map(async (operation) => {
          const ids = await resources.of(operation);
          const path = operation.path.replace(':webhook_id', ids.webhook_id);
          const verb = operation.method === 'PUT' ? 'put' : 'post';
          const sending = request(service.url)[verb](path).set(client.headers).set('Content-Type', 'application/json');
          // A serialiser of its own, since superagent would write a Buffer as JSON.
          return await sending
            .set(headers)
            .serialize((data) => data as string)
            .send(body);
        }),
      );
    }

    it('are taken by eight operations', () => {
      expect(taking.map(nameOf)).toHaveLength(8);
    });

    it.each<[string, string | Buffer]>([
      ['nothing', ''],
      ['white space', ' \n'],
      ['half an object', '{"name":'],
      ['two objects', '{}{}'],
      ['a comment', '{/* */}'],
      ['a list', '[]'],
      ['a list with an object', '[{"name":"x"}]'],
      ['a string', '"name"'],
      ['a number', '1'],
      ['true', 'true'],
      ['null', 'null'],
      ['a byte order mark', Buffer.from('\ufeff{"name":"x"}')],
      ['invalid UTF-8', Buffer.from('7b226e616d65223a22ff227d', 'hex')],
      ['an overlong form of UTF-8', Buffer.from('7b226e616d65223a22c0af227d', 'hex')],
      ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le')],
      ['a repeated key', '{"name":"x","name":"y"}'],
      ['a repeated key in an inner object', '{"name":{"a":1,"a":2}}'],
      ['a control character that is not escaped', '{"name":"a\u0001b"}'],
      ['10,000 levels', `{"name":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
      ['10,000 levels of objects', `${'{"name":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ])('are refused when they are %s: 400 (2002)', async (_, body) => {
      for (const answer of await sendAll(body)) expectError(answer, 'MalformedRequestError');
    });

    it.each<[string, Record<string, string>, Buffer]>([
      ['gzip', { 'Content-Encoding': 'gzip' }, gzipSync('{"name":"x"}')],
      ['deflate', { 'Content-Encoding': 'deflate' }, deflateSync('{"name":"x"}')],
      ['an unknown encoding', { 'Content-Encoding': 'rot13' }, Buffer.from('{"anzr":"k"}')],
      ['text/plain', { 'Content-Type': 'text/plain' }, Buffer.from('{"name":"x"}')],
      ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, Buffer.from('name=x')],
      ['another kind of JSON', { 'Content-Type': 'application/vnd.api+json' }, Buffer.from('{"name":"x"}')],
    ])('are refused when they come as %s: 400 (2002)', async (_, headers, body) => {
      for (const answer of await sendAll(body, headers)) expectError(answer, 'MalformedRequestError');
    });

    it('are refused without a content type, and missing ones, too: 400 (2002)', async () => {
      const { url, headers } = client;
      const untyped = await fetch(`${url}${KEYS}`, { method: 'POST', headers, body: Buffer.from('{"name":"x"}') });
      expect(untyped.status).toBe(400);
      expect(await untyped.json()).toMatchObject({ error: { code: 2002 } });

      expectError(await request(url).post(KEYS).set(headers), 'MalformedRequestError');
      expectError(await request(url).post(KEYS).set(headers).type('json'), 'MalformedRequestError');
    });

    it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset="UTF-8"; x=y'])(
      'are taken as %s',
      async (type) => {
        await request(service.url)
          .post(KEYS)
          .set(client.headers)
          .set('Content-Type', type)
          .send('{"name":"x"}')
          .expect(201);
      },
    );

    it('may be 102,400 bytes long and not one more: 413 with max_bytes (2013)', async () => {
      const sized = (bytes: number) => client.post(KEYS).type('json').send('{"name":"x"}'.padEnd(bytes));
      await sized(MAX_JSON_BYTES).expect(201);

      expectError(await sized(MAX_JSON_BYTES + 1), 'PayloadTooLargeError', { max_bytes: MAX_JSON_BYTES });
      expectError(await sized(1_000_000), 'PayloadTooLargeError', { max_bytes: MAX_JSON_BYTES });
    });

    it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'api_key', 'Name', ' name', 'name.first', ''])(
      'with a field that is unknown are refused, naming it: %j (2001)',
      async (field) => {
        const body = `{${JSON.stringify(field)}:{"a":1},"name":"x"}`;
        const answer = await client.post(KEYS).type('json').send(body);

        expect(answer.body.error).toMatchObject({ code: 2001, details: { field } });
        expect(answer.status).toBe(400);
        expect(({} as { a?: number }).a).toBeUndefined();
      },
    );

    it.each(['a\u0000b', 'a\u0007b', 'a\u001bb', 'a\u007fb', 'a\u0085b', 'a\ud800', '\udc00a', '\ud800\ud800'])(
      'with control characters or lone surrogates in a text are refused: %j (2001)',
      async (text) => {
        const hook = { url: 'https://hooks.example.com/', events: ['recording.failed'] };
        expectInvalid(await client.post(KEYS, { name: text }), 'name');
        expectInvalid(await client.post(KEYS, { name: 'x', description: text }), 'description');
        expectInvalid(await client.post('/v1/account/access-tokens', { identity: text }), 'identity');
        expectInvalid(await client.post('/v1/webhooks', { ...hook, url: hook.url + text }), 'url');
        expectInvalid(await client.post('/v1/webhooks', { ...hook, secret: `0123456789abcdef${text}` }), 'secret');
      },
    );

    it('keep letters of every script', async () => {
      const name = 'Größe 会議 العربية 🎙👩‍👩‍👧';
      const { body } = await client.post(KEYS, { name }).expect(201);

      expect(body.name).toBe(name);
    });
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

    it('is off unless origins are named', async () => {
      const asked = await preflight(service, ORIGIN).expect(204);
      const got = await client.get('/v1/account').set('Origin', ORIGIN).expect(200);

      expect([...corsHeaders(asked), ...corsHeaders(got)]).toEqual([]);
    });

    describe('where origins are named', () => {
      let open: TestService;

      beforeAll(async () => {
        open = await startService(environment, { ROLES: 'api', CORS_ORIGINS: `${ORIGIN},http://localhost:8080` });
      });

      afterAll(() => open.close());

      it('answers a preflight with 204 and no token taken (D6)', async () => {
        const answer = await preflight(open, ORIGIN).expect(204);

        expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
        expect(answer.headers['access-control-allow-methods']).toMatch(/POST/);
        const allowed = (answer.headers['access-control-allow-headers'] as string).toLowerCase().split(',');
        expect(allowed.map((name) => name.trim())).toEqual(
          expect.arrayContaining([
            'authorization',
            'content-type',
            'idempotency-key',
            'x-request-id',
            'x-upload-source',
          ]),
        );
        expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
        const again = await preflight(open, ORIGIN).expect(204);
        expect(again.headers['x-ratelimit-remaining']).toBe(answer.headers['x-ratelimit-remaining']);
      });

      it('lets scripts read limits, Retry-After, Location and X-Request-Id, on errors, too', async () => {
        const there = client.at(open.url);
        const answers = await Promise.all([
          there.upload(silenceWav(0.1)).set('Origin', ORIGIN).expect(201),
          there.get('/v1/recordings/x').set('Origin', ORIGIN).expect(404),
          anonymous('get', '/v1/account', open).set('Origin', ORIGIN).expect(401),
        ]);
        for (const { headers } of answers) {
          expect(headers['access-control-allow-origin']).toBe(ORIGIN);
          const exposed = (headers['access-control-expose-headers'] as string).toLowerCase().split(/, */);
          expect(exposed).toEqual(
            expect.arrayContaining([
              'x-ratelimit-limit',
              'x-ratelimit-remaining',
              'x-ratelimit-reset',
              'retry-after',
              'location',
              'x-request-id',
            ]),
          );
        }
      });

      it.each(['https://evil.example.com', `${ORIGIN}.evil.example`, 'http://app.example.com', 'null'])(
        'gives nothing to %s',
        async (origin) => {
          const asked = await preflight(open, origin).expect(204);
          const got = await client.at(open.url).get('/v1/account').set('Origin', origin).expect(200);

          expect(asked.headers).not.toHaveProperty('access-control-allow-origin');
          expect(got.headers).not.toHaveProperty('access-control-allow-origin');
        },
      );
    });
  });

  describe('outside /v1 (D31)', () => {
    it('/health/live says that the process runs, to probes with parameters, too', async () => {
      expect((await anonymous('get', '/health/live').expect(200)).body).toEqual({ status: 'ok' });
      await anonymous('get', '/health/live?probe=1').expect(200);
    });

    it('/health/ready says what an api needs', async () => {
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

    it('/metrics asks for METRICS_TOKEN where there is one', async () => {
      const guarded = await startService(environment, { ROLES: 'api', METRICS_TOKEN: 'a-token-for-prometheus' });
      try {
        const scrape = (authorization?: string) =>
          anonymous('get', '/metrics', guarded).set(authorization ? { Authorization: authorization } : {});
        for (const wrong of [undefined, 'Bearer wrong', 'a-token-for-prometheus', 'Basic a-token-for-prometheus']) {
          const { status, body } = await scrape(wrong);
          expect([status, body.error]).toMatchObject([401, { code: 1001, type: 'AuthenticationError', details: {} }]);
        }
        await scrape('Bearer a-token-for-prometheus').expect(200);
      } finally {
        await guarded.close();
      }
    });

    it('/metrics answers the machine itself in production without a token', async () => {
      const production = await startService(environment, { ROLES: 'api', NODE_ENV: 'production' });
      try {
        await anonymous('get', '/metrics', production).expect(200);
      } finally {
        await production.close();
      }
    });

    it('/metrics without a token answers nobody behind a proxy on the same machine', async () => {
      const [open, proxied] = await Promise.all([
        startService(environment, { ROLES: 'api', NODE_ENV: 'production' }),
        startService(environment, { ROLES: 'api', NODE_ENV: 'production', TRUST_PROXY: '1' }),
      ]);
      try {
        for (const [name, value] of [
          ['X-Forwarded-For', '203.0.113.9'],
          ['X-Forwarded-For', '127.0.0.1'],
          ['Forwarded', 'for=127.0.0.1'],
          ['X-Real-IP', '127.0.0.1'],
          ['Via', '1.1 proxy'],
        ] as const) {
          await anonymous('get', '/metrics', open).set(name, value).expect(401);
        }
        await anonymous('get', '/metrics', proxied).expect(401);
      } finally {
        await Promise.all([open.close(), proxied.close()]);
      }
    });

    it('/.well-known/security.txt says where to report vulnerabilities, where SECURITY_CONTACT does (RFC 9116)', async () => {
      const path = '/.well-known/security.txt';
      expect((await anonymous('get', path).expect(404)).body.error.type).toBe('NotFoundError');
      const SECURITY_CONTACT = 'mailto:security@example.com,https://example.com/report';
      const named = await startService(environment, { ROLES: 'api', SECURITY_CONTACT, CONSOLE: 'off' });
      try {
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
      } finally {
        await named.close();
      }
    });

    it('/openapi.json and /docs describe the API', async () => {
      const { body } = await anonymous('get', '/openapi.json').expect(200).expect('Content-Type', /json/);
      expect(body.openapi).toMatch(/^3\./);
      expect(Object.keys(body.paths)).toContain('/v1/recordings/{recording_id}/transcription');

      await anonymous('get', '/docs').expect(200).expect('Content-Type', /html/);
      await anonymous('get', '/docs/').expect(200).expect('Content-Type', /html/);
    });

    it('a worker serves its health and its figures, and nothing else', async () => {
      const worker = await startService(environment, { ROLES: 'worker' });
      try {
        await anonymous('get', '/health/live', worker).expect(200);
        const { body } = await anonymous('get', '/health/ready', worker);
        expect(Object.keys(body.checks)).toEqual(expect.arrayContaining(['postgres', 'storage', 'redis']));
        expect(Object.keys(body.checks).length).toBeGreaterThan(3);
        await anonymous('get', '/metrics', worker).expect(200);
        for (const path of ['/v1/account', '/v1/nowhere', '/docs', '/openapi.json', '/', '/health', '/metrics/x']) {
          const { status, body: answer } = await anonymous('get', path, worker).set(client.headers);
          expect([path, status, answer.error?.code]).toEqual([path, 404, 3001]);
        }
      } finally {
        await worker.close();
      }
    });
  });
});
