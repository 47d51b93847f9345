import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Module } from '@nestjs/common';
import request, { type Test } from 'supertest';
import { AccountService } from '../../src/modules/account/account.service.js';
import { RequireScope } from '../../src/access/access.decorators.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { checkRows } from '../support/check-rows.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { addWebhooks } from '../support/state/filler-rows.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { call } from '../support/http/operations.js';
import { ERRORS, expectError, statusesOf } from '../support/http/expect-errors.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { useService } from '../../src/testing/test-service.js';

const KEYS = '/v1/account/api-keys';
const GET_ACCOUNT = { method: 'GET', path: '/v1/account' } as const;
const NOBODY = {
  key_id: randomUUID(),
  token_issuer_id: randomUUID(),
  webhook_id: randomUUID(),
  delivery_id: randomUUID(),
  share_id: randomUUID(),
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
        'AddressNotAllowedError',
        async () => {
          const { body } = await client
            .post(KEYS, { name: 'A key', allowed_addresses: ['203.0.113.0/24'] })
            .expect(201);
          const pair = {
            'X-Service-API-Key': body.api_key as string,
            'X-Service-API-Secret': body.api_secret as string,
          };
          const elsewhere = { ...pair, 'X-Forwarded-For': '198.51.100.250' };
          const answer = await request(service.url).get('/v1/account').set(elsewhere);
          return [answer, { address: '198.51.100.250' }];
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

  it('come in the order of D14: credentials, limit, account, scope, and only then the input', async () => {
    type Caller = Pick<ApiClient, 'url' | 'headers'>;
    const post = ({ url, headers }: Caller, path = KEYS): Test => request(url).post(path).set(headers);
    const broken: [string, (by: Caller) => Test][] = [
      ['JSON that is none', (by) => post(by).type('json').send('{')],
      ['JSON that is too large', (by) => post(by).send({ a: 'x'.repeat(200_000) })],
      ['an unknown field', (by) => post(by).send({ nmae: 'x' })],
      ['an unknown parameter', ({ url, headers }) => request(url).get(`${KEYS}?limt=1`).set(headers)],
      ['a form that is none', (by) => post(by, '/v1/recordings').set('Content-Type', 'multipart/form-data').send('x')],
      ['an empty file', (by) => post(by, '/v1/recordings').attach('file', Buffer.alloc(0), 'a.wav')],
      [
        'a file that is too large',
        (by) => post(by, '/v1/recordings').attach('file', Buffer.alloc(26_300_000), 'a.wav'),
      ],
      ['an id that is none', ({ url, headers }) => request(url).get('/v1/webhooks/%00').set(headers)],
    ];
    const [suspended, exhausted] = [await service.account(), await service.account('free')];
    const weak = await service.key(client, ['webhooks:write']);
    await Promise.all([suspend(suspended), suspend(exhausted)]);
    const guess = { url: service.url, headers: { ...suspended.headers, 'X-Service-API-Secret': 'vns_wrong' } };
    await checkRows(broken, async (_, send) => {
      expectError(await send(stranger()), 'AuthenticationError');
      // Without valid credentials nobody learns that an account is suspended.
      expectError(await send(guess), 'AuthenticationError');
      // A token comes back every six seconds, and on a slow machine a row with a large body takes longer than that.
      const limited = await eventually(async () => {
        await exhaust(exhausted);
        const answer = await send(exhausted);
        return answer.status === 429 && answer;
      });
      expectError(limited, 'RateLimitError', { retry_after: expect.any(Number) });
      expectError(await send(suspended), 'AccountSuspendedError');
      expectError(await send(weak), 'PermissionError', { required_scope: expect.any(String) });
    });
  });

  it('of a suspended account end when the operator reactivates it, and nothing is lost (D4)', async () => {
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await suspend(client);
    await client.get(body.uri).expect(403);
    await service.app.get(AccountService).update(client.accountId, { status: 'active' });
    await client.get(body.uri).expect(200);
  });

  describe('on an unknown path (D6)', () => {
    it('are 404 with credentials, without, and for a suspended account, whatever the method and the body', async () => {
      const [suspended, weak] = [await service.account(), await service.key(client, ['webhooks:read'])];
      await suspend(suspended);
      const paths = ['', '/', '?x=1', '/nowhere?x=1', '/account/', '/Account', '/account/api-keys/x/y', '/%2e%2e/x'];
      await checkRows(
        paths.map((path) => [`/v1${path}`] as const),
        async (path) => {
          for (const { headers } of [client, stranger(), suspended, weak]) {
            expectError(await request(service.url).get(path).set(headers), 'NotFoundError');
            for (const method of ['post', 'put', 'patch', 'delete'] as const) {
              const asked = request(service.url)[method](path).set(headers).type('json').send('{');
              expectError(await asked, 'NotFoundError');
            }
          }
        },
      );
    });

    it('say of a method that the path does not have which ones it has', () =>
      checkRows<[path: string, method: 'get' | 'post' | 'put' | 'patch' | 'delete']>(
        [
          ['/v1/account', 'post'],
          ['/v1/account', 'patch'],
          ['/v1/account/api-keys', 'delete'],
          ['/v1/account/access-tokens', 'get'],
          [`/v1/webhooks/${randomUUID()}`, 'patch'],
          [`/v1/recordings/${randomUUID()}`, 'put'],
          [`/v1/recordings/${randomUUID()}/retry`, 'get'],
          [`/v1/recordings/${randomUUID()}/transcription`, 'post'],
        ],
        async (path, method) => {
          const answer = await request(service.url)[method](path).set(client.headers);
          expectError(answer, 'NotFoundError');
          const told = new RegExp(`^${method.toUpperCase()} is not supported on this path. Use`);
          expect(answer.body.error.message).toMatch(told);
        },
      ));

    it('take a token of the account, or of the address, and are 429 when there is none', async () => {
      for (const path of ['/v1', '/v1/', '/v1/nowhere']) {
        const free = await service.account('free');
        const { headers } = await free.get(path);
        expect(headers).toMatchObject({ 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9' });
        await exhaust(free);
        expectError(await free.get(path), 'RateLimitError', { retry_after: expect.any(Number) });

        addresses++;
        const unknown = await request(service.url).get(path).set(stranger().headers);
        expect(unknown.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' });
      }
      const asked = Array.from({ length: 125 }, () => request(service.url).get('/v1/nowhere').set(stranger().headers));
      expect(statusesOf(await Promise.all(asked)).at(-1)).toBe(429);
    });

    it('of what is not under /v1 have the envelope, and no limits', async () => {
      for (const path of ['/v2/account', '/v10/account', '/nowhere']) {
        const { status, body, headers } = await request(service.url).get(path);
        expect([status, body.error]).toMatchObject([404, { code: 3001, type: 'NotFoundError', details: {} }]);
        expect(body.error.message).toBe('No such path. The API is under /v1; see /docs.');
        expect(headers).not.toHaveProperty('x-ratelimit-limit');
      }
    });
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
