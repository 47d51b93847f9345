import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Module } from '@nestjs/common';
import request, { type Test } from 'supertest';
import { AccountService } from '../../src/modules/account/account.service.js';
import { RequireScope } from '../../src/access/access.decorators.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { addWebhooks } from '../support/state/filler-rows.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { call, NAMED_OPERATIONS } from '../support/http/operations.js';
import { ERRORS, expectInvalid, expectError, expectErrorOf } from '../support/http/expect-errors.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { useService } from '../../src/testing/test-service.js';

const KEYS = '/v1/account/api-keys';
const GET_ACCOUNT = { method: 'GET', path: '/v1/account' } as const;
const NOBODY = {
  key_id: randomUUID(),
  webhook_id: randomUUID(),
  delivery_id: randomUUID(),
  recording_id: randomUUID(),
};

@Controller('v1/defect')
class DefectController {
  @Get()
  @RequireScope('account:read')
  fail(): never {
    throw new Error('SELECT secret FROM somewhere failed');
  }
}

@Module({ controllers: [DefectController] })
class DefectModule {}

describe('errors', () => {
  const environment = useEnvironment();
  let postgres: TcpProxy;
  let client: ApiClient;

  beforeAll(async () => {
    postgres = await TcpProxy.to(environment.variables.DATABASE_URL as string);
    environment.defer(() => postgres.close());
  });
  // Behind a proxy, so that tests can come from addresses of their own.
  const behindProxy = { TRUST_PROXY: '1', ADDRESS_RATE_LIMIT: '60/120', METRICS_TOKEN: 'a-token-for-the-metrics' };
  const service = useService(() => ({ ROLES: 'api', DATABASE_URL: postgres.url, ...behindProxy }), {
    environment,
    extensions: [{ module: DefectModule }],
  });

  let addresses = 0;
  beforeEach(async () => {
    addresses++;
    client = await service.account();
  });

  /** From an address that nothing else comes from. */
  const stranger = () => ({ url: service.url, headers: { 'X-Forwarded-For': `198.51.100.${addresses}` } });
  const suspend = ({ accountId }: ApiClient) =>
    service.app.get(AccountService).update(accountId, { status: 'suspended' });

  async function exhaust(free: ApiClient): Promise<void> {
    const answers = await Promise.all(Array.from({ length: 25 }, () => free.get('/v1/nowhere')));
    expect(answers.some(({ status }) => status === 429)).toBe(true);
  }

  describe('the table', () => {
    const table: [keyof typeof ERRORS, () => Promise<[answer: Awaited<Test>, details?: object]>][] = [
      ['AuthenticationError', async () => [await call(stranger(), GET_ACCOUNT, NOBODY)]],
      [
        'PermissionError',
        async () => [
          await (await service.key(client, ['webhooks:read'])).get('/v1/account'),
          { required_scope: 'account:read' },
        ],
      ],
      [
        'AccountSuspendedError',
        async () => {
          await suspend(client);
          return [await client.get('/v1/account')];
        },
      ],
      [
        'QuotaExceededError',
        async () => {
          await service.app.get(AccountService).update(client.accountId, { quotas: { storedBytes: 1 } });
          const details = { quota: 'stored_bytes', limit: 1, used: 0, resets_at: null };
          return [await client.upload(silenceWav(0.1)), details];
        },
      ],
      [
        'ValidationError',
        async () => {
          const reason = 'must be an integer from 1 to 100';
          const errors = [{ field: 'limit', reason }];
          return [await client.get(`${KEYS}?limit=101`), { field: 'limit', reason, errors }];
        },
      ],
      ['MalformedRequestError', async () => [await client.post(KEYS).type('json').send('{')]],
      [
        'LimitExceededError',
        async () => {
          const hook = { url: 'https://hooks.example.com/', events: ['recording.failed'] };
          await addWebhooks(service, client, 50);
          return [await client.post('/v1/webhooks', hook), { maximum: 50 }];
        },
      ],
      [
        'ConflictError',
        async () => {
          const { body } = await client.upload(silenceWav(0.1)).expect(201);
          return [await client.post(`${body.uri}/retry`)];
        },
      ],
      [
        'PreconditionFailedError',
        async () => {
          const { body } = await client.upload(silenceWav(0.1)).expect(201);
          const { headers } = await client.get(`${body.uri}/audio`).expect(200);
          return [await client.get(`${body.uri}/audio`).set('If-Match', '"another"'), { etag: headers.etag }];
        },
      ],
      [
        'PayloadTooLargeError',
        async () => [await client.post(KEYS, { name: 'x'.repeat(200_000) }), { max_bytes: 102_400 }],
      ],
      [
        'RangeNotSatisfiableError',
        async () => {
          const { body } = await client.upload(silenceWav(0.1)).expect(201);
          const answer = await client.get(`${body.uri}/audio`).set('Range', 'bytes=999999-');
          return [answer, { size_bytes: body.file_size_bytes }];
        },
      ],
      ['NotFoundError', async () => [await client.get(`/v1/recordings/${randomUUID()}`)]],
      [
        'RateLimitError',
        async () => {
          const free = await service.account('free');
          await exhaust(free);
          const answer = await free.get('/v1/account');
          expect(answer.headers['retry-after']).toMatch(/^[1-6]$/);
          expect(answer.headers['x-ratelimit-remaining']).toBe('0');
          return [answer, { retry_after: Number(answer.headers['retry-after']) }];
        },
      ],
      [
        'InternalError',
        async () => {
          const answer = await client.get('/v1/defect').set('X-Request-Id', 'my-own-id');
          expect(answer.text).not.toMatch(/SELECT|secret|DefectController|\.ts|\bat /);
          return [answer, { request_id: 'my-own-id' }];
        },
      ],
      [
        'ServiceUnavailableError',
        async () => {
          const answer = await withoutStorage(() => client.upload(silenceWav(0.1)));
          expect(answer.headers['retry-after']).toMatch(/^\d+$/);
          await client.upload(silenceWav(0.1)).expect(201);
          return [answer];
        },
      ],
    ];
    it('is complete', () => {
      expect(table.map(([type]) => type)).toEqual(Object.keys(ERRORS));
    });

    it.each(table)('%s has its status, its code and the one envelope', async (type, provoke) => {
      const [answer, details] = await provoke();

      expectError(answer, type, details);
    });
  });

  async function withoutStorage<T>(work: () => PromiseLike<T>): Promise<T> {
    const folder = join(environment.variables.STORAGE_DIR as string, 'objects');
    await rename(folder, `${folder}-away`);
    try {
      return await work();
    } finally {
      await rename(`${folder}-away`, folder);
    }
  }

  it('keep nothing of an upload for which there is no storage (D20)', async () => {
    await withoutStorage(async () => {
      expectError(await client.upload(silenceWav(0.1)), 'ServiceUnavailableError');
    });

    expect((await client.get('/v1/recordings').expect(200)).body.total).toBe(0);
    expect((await client.get('/v1/account')).body.usage.current_month.recordings_count).toBe(0);
  });

  describe('come in the order of D14', () => {
    const broken: [string, (by: { url: string; headers: Record<string, string> }) => Test][] = [
      ['JSON that is none', ({ url, headers }) => request(url).post(KEYS).set(headers).type('json').send('{')],
      [
        'JSON that is too large',
        ({ url, headers }) =>
          request(url)
            .post(KEYS)
            .set(headers)
            .send({ a: 'x'.repeat(200_000) }),
      ],
      ['an unknown field', ({ url, headers }) => request(url).post(KEYS).set(headers).send({ nmae: 'x' })],
      ['an unknown parameter', ({ url, headers }) => request(url).get(`${KEYS}?limt=1`).set(headers)],
      [
        'a form that is none',
        ({ url, headers }) =>
          request(url).post('/v1/recordings').set(headers).set('Content-Type', 'multipart/form-data').send('x'),
      ],
      [
        'an empty file',
        ({ url, headers }) => request(url).post('/v1/recordings').set(headers).attach('file', Buffer.alloc(0), 'a.wav'),
      ],
      [
        'a file that is too large',
        ({ url, headers }) =>
          request(url).post('/v1/recordings').set(headers).attach('file', Buffer.alloc(26_300_000), 'a.wav'),
      ],
      ['an id that is none', ({ url, headers }) => request(url).get('/v1/webhooks/%00').set(headers)],
    ];

    it.each(broken)('credentials before input: a stranger’s %s is 401', async (_, send) => {
      expectError(await send(stranger()), 'AuthenticationError');
    });

    it.each(broken)('the limit before input: %s on an empty bucket is 429', async (_, send) => {
      const free = await service.account('free');
      await exhaust(free);
      const answer = await send(free);

      expectError(answer, 'RateLimitError', { retry_after: expect.any(Number) });
    });

    it.each(broken)('the account before input: %s of a suspended account is 403', async (_, send) => {
      await suspend(client);

      expectError(await send(client), 'AccountSuspendedError');
    });

    it.each(broken)('the scope before input: %s without the scope is 403', async (_, send) => {
      const weak = await service.key(client, ['webhooks:write']);

      expectError(await send(weak), 'PermissionError', { required_scope: expect.any(String) });
    });

    it('the limit before the account: a suspended one’s empty bucket is 429 (D6)', async () => {
      const free = await service.account('free');
      await suspend(free);
      const answers = await Promise.all(Array.from({ length: 25 }, () => free.get('/v1/account')));

      expect(answers.filter(({ status }) => status === 403).length).toBeGreaterThanOrEqual(20);
      const refused = answers.find(({ status }) => status === 429) as Awaited<Test>;
      expectError(refused, 'RateLimitError', { retry_after: expect.any(Number) });
    });

    it('the account before the scope', async () => {
      const weak = await service.key(client, ['webhooks:read']);
      await suspend(client);

      expectError(await weak.get('/v1/account'), 'AccountSuspendedError');
    });

    it('credentials before the account: without valid credentials nobody learns that it is suspended', async () => {
      await suspend(client);
      const headers = { ...client.headers, 'X-Service-API-Secret': 'vns_wrong', ...stranger().headers };

      expectError(await request(service.url).get('/v1/account').set(headers), 'AuthenticationError');
    });

    it('input before existence: an unknown parameter on what does not exist', async () => {
      expectInvalid(await client.get(`/v1/recordings/${randomUUID()}?x=1`), 'x');
    });
  });

  describe('of a suspended account (D4)', () => {
    it.each(NAMED_OPERATIONS)('%s is 403', async (_, operation) => {
      await suspend(client);

      expectErrorOf(operation, await call(client, operation, NOBODY), 'AccountSuspendedError');
    });

    it('are accepted again when the operator reactivates it, and nothing is lost', async () => {
      const { body } = await client.upload(silenceWav(0.1)).expect(201);
      await suspend(client);
      await client.get(body.uri).expect(403);
      await service.app.get(AccountService).update(client.accountId, { status: 'active' });

      await client.get(body.uri).expect(200);
    });
  });

  describe('on an unknown path (D6)', () => {
    const paths = [
      '/v1',
      '/v1/',
      '/v1?x=1',
      '/v1/nowhere',
      '/v1/nowhere?x=1',
      '/v1/account/',
      '/v1/Account',
      '/v1/account/nowhere?limit=5',
      '/v1/account/api-keys/x/y',
      '/v1/recordings//',
      '/v1/%2e%2e/x',
    ];

    it.each(paths)('%s: 404 with credentials, without, and for a suspended account', async (path) => {
      const suspended = await service.account();
      await suspend(suspended);
      const weak = await service.key(client, ['webhooks:read']);
      for (const { headers } of [client, stranger(), suspended, weak]) {
        for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
          expectError(await request(service.url)[method](path).set(headers), 'NotFoundError');
        }
      }
    });

    it.each<[string, 'get' | 'post' | 'put' | 'patch' | 'delete']>([
      ['/v1/account', 'post'],
      ['/v1/account', 'patch'],
      ['/v1/account/api-keys', 'delete'],
      ['/v1/account/access-tokens', 'get'],
      [`/v1/account/api-keys/${randomUUID()}`, 'put'],
      ['/v1/webhooks', 'put'],
      [`/v1/webhooks/${randomUUID()}`, 'patch'],
      ['/v1/recordings', 'put'],
      [`/v1/recordings/${randomUUID()}`, 'put'],
      [`/v1/recordings/${randomUUID()}/retry`, 'get'],
      [`/v1/recordings/${randomUUID()}/transcription`, 'post'],
    ])('so is %s by a method that it does not have (%s), which the message says', async (path, method) => {
      const answer = await request(service.url)[method](path).set(client.headers);
      expectError(answer, 'NotFoundError');
      expect(answer.body.error.message).toMatch(
        new RegExp(`^${method.toUpperCase()} is not supported on this path. Use`),
      );
    });

    it('takes a token of the account, or of the address, and is 429 when there is none', async () => {
      const free = await service.account('free');
      const first = await free.get('/v1/nowhere');
      expect(first.headers).toMatchObject({ 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9' });
      await exhaust(free);
      expectError(await free.get('/v1/nowhere'), 'RateLimitError', { retry_after: expect.any(Number) });

      const { headers } = stranger();
      const unknown = await request(service.url).get('/v1/nowhere').set(headers);
      expect(unknown.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' });
    });

    it('reads no body', async () => {
      const answer = await request(service.url).post('/v1/nowhere').set(stranger().headers).type('json').send('{');

      expectError(answer, 'NotFoundError');
    });

    it('of what is not under /v1 has the envelope, and no limits', async () => {
      const answer = await request(service.url).get('/v2/account');

      expect({ status: answer.status, body: answer.body }).toMatchObject({
        status: 404,
        body: { error: { code: 3001, type: 'NotFoundError', details: {} } },
      });
      expect(answer.body.error.message).toBe('No such path. The API is under /v1; see /docs.');
      expect(answer.headers).not.toHaveProperty('x-ratelimit-limit');
    });
  });

  it('guessing from one address ends in 429, while valid credentials from there are accepted (D6)', async () => {
    const { headers } = stranger();
    const guess = () => request(service.url).get('/v1/account').set(headers);
    const answers = await Promise.all(Array.from({ length: 130 }, guess));
    const refused = answers.filter(({ status }) => status === 429);

    expect(refused.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status === 401).length).toBeGreaterThanOrEqual(120);
    expectError(refused[0] as Awaited<Test>, 'RateLimitError', { retry_after: 1 });
    await guess().set(client.headers).expect(200);
  });

  it('valid credentials are 503 and never 401 while Postgres is unavailable, invalid ones are 401 (D14)', async () => {
    await postgres.cut();
    const answers = await Promise.all([client.get('/v1/account'), client.get(KEYS), client.upload(silenceWav(0.1))]);
    for (const answer of answers) {
      expectError(answer, 'ServiceUnavailableError');
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    }
    expectError(await call(stranger(), GET_ACCOUNT, NOBODY), 'AuthenticationError');
    expectError(await client.get('/v1/nowhere'), 'NotFoundError');
    await request(service.url).get('/health/live').expect(200);
    const { body } = await request(service.url)
      .get('/health/ready')
      .set('Authorization', `Bearer ${behindProxy.METRICS_TOKEN}`)
      .expect(503);
    expect(body).toMatchObject({ status: 'unavailable', checks: { storage: 'ok', redis: 'ok' } });
    expect(body.checks.postgres).not.toBe('ok');

    await postgres.mend();
    await eventually(async () => (await client.get('/v1/account')).status === 200);
    await request(service.url).get('/health/ready').expect(200);
  });
});
