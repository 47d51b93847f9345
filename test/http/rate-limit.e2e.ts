import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import request, { type Response } from 'supertest';
import { AccountService } from '../../src/modules/account/account.service.js';
import { RedisService } from '../../src/platform/redis/redis.service.js';
import {
  bucketState,
  LocalBuckets,
  type TokenBucket,
  tokenBucket,
} from '../../src/platform/rate-limit/token-bucket.js';
import { type Allowed, countAllowed, now, sendMany } from '../support/http/load.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { checkRows } from '../support/check-rows.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { freePort } from '../support/servers/free-port.js';
import { startService, type TestService, useService } from '../../src/testing/test-service.js';
import { ROOT } from '../support/paths.js';

const FREE = { rate: 10, burst: 20 };
const UNREFILLED = { ...FREE, rate: 1 };
const ADDRESS = { rate: 5, burst: 8 };
/** Enough for an address's first refusal. */
const ADDRESS_ATTEMPTS = ADDRESS.burst + 1;

let redis: Redis;
let lastHost = 0;

const service = useService({
  ROLES: 'api',
  TRUST_PROXY: '1',
  ADDRESS_RATE_LIMIT: `${ADDRESS.rate}/${ADDRESS.burst}`,
});
const { environment } = service;

beforeAll(async () => {
  redis = new Redis(environment.variables.REDIS_URL as string);
});

afterAll(async () => {
  redis.disconnect();
});

/** An address that no other test comes from. */
const freshAddress = (): string => `203.0.113.${++lastHost}`;

async function limitedAccount(rateLimit: number, burstLimit: number): Promise<ApiClient> {
  const client = await service.account('enterprise');
  await service.app.get(AccountService).update(client.accountId, { rateLimit, burstLimit });
  return client;
}

/** With the burst of a free plan, and one token a minute: none comes back while a test runs. */
const unrefilledAccount = () => limitedAccount(UNREFILLED.rate, UNREFILLED.burst);

/** What `work` gives once it took less time than one token of a free plan: nothing came back to the bucket meanwhile. */
const withinOneToken = <T extends object>(work: () => Promise<T>): Promise<T> =>
  eventually(async () => {
    const started = await now(redis);
    const result = await work();
    return (await now(redis)) - started < 60_000_000 / FREE.rate && result;
  }, 180_000);

const suspend = (client: ApiClient) =>
  service.app.get(AccountService).update(client.accountId, { status: 'suspended' });

const limitOf = ({ headers }: Response) => ({
  limit: String(headers['x-ratelimit-limit']),
  remaining: String(headers['x-ratelimit-remaining']),
});

/** Nobody's request, from the given address. */
const stranger = (address: string, path = '/v1/account') =>
  request(service.url).get(path).set('X-Forwarded-For', address);

function expectError(response: Pick<Response, 'status' | 'headers' | 'body'>): void {
  expect(response.status).toBe(429);
  const retryAfter = Number(response.headers['retry-after']);
  expect(retryAfter).toBeGreaterThanOrEqual(1);
  expect(Number.isInteger(retryAfter)).toBe(true);
  expect(response.body).toEqual({
    success: false,
    error: {
      code: 4003,
      type: 'RateLimitError',
      message: expect.any(String),
      details: { retry_after: retryAfter },
    },
  });
  expect(response.headers['x-ratelimit-remaining']).toBe('0');
}

function expectWithin({ count, atLeast, atMost }: Allowed): void {
  expect(count).toBeLessThanOrEqual(atMost);
  expect(count).toBeGreaterThanOrEqual(atLeast);
}

describe('D6: burst + floor(elapsed × rate / 60) concurrent requests are allowed, and not one more', () => {
  it('plan pro: 100 a minute, 200 at once (D5)', async () => {
    const limit = { rate: 100, burst: 200 };
    expectWithin(await countAllowed(redis, [await service.account('pro')], limit, 2500));
  });

  it('an enterprise account’s own figures: 1 a minute, 60 at once (D5)', async () => {
    expectWithin(await countAllowed(redis, [await limitedAccount(1, 60)], { rate: 1, burst: 60 }, 0));
  });

  it('plan enterprise: 1000 a minute (D5)', async () => {
    const client = await service.account('enterprise');
    expect(limitOf(await client.get('/v1/account').expect(200))).toEqual({ limit: '1000', remaining: '999' });
  });

  it('all keys of the account share one bucket', async () => {
    const first = await service.account('free');
    const second = await service.key(first, ['webhooks:read']);
    expectWithin(await countAllowed(redis, [first, second], FREE, 0));
  });

  it('accounts do not share one', async () => {
    const busy = await service.account('free');
    await countAllowed(redis, [busy], FREE, 0);
    const other = await service.account('free');
    expect(limitOf(await other.get('/v1/account').expect(200))).toEqual({ limit: '10', remaining: '9' });
  });

  it('an upload counts like any other request: refused, it leaves nothing', async () => {
    const client = await unrefilledAccount();
    await countAllowed(redis, [client], UNREFILLED, 0);
    // The client asks for the end of the connection, and is still sending when it is answered: it reads the answer.
    for (const audio of ['cards-001.wav', silenceWav(100)]) expectError(await client.upload(audio));
    const [thisMonth] = await service.app.get(AccountService).usage(client.accountId);
    expect(thisMonth.recordings).toBe(0);
  });
});

describe('D35: access tokens have buckets of their own', () => {
  const tokenOf = async (client: ApiClient, identity: string): Promise<string> =>
    (await client.post('/v1/account/access-tokens', { identity }).expect(201)).body.token;
  const ask = (token: string) => request(service.url).get('/v1/webhooks').set('Authorization', `Bearer ${token}`);
  const allowedOf = async (token: string, requests: number) => {
    const answers = await Promise.all(Array.from({ length: requests }, () => ask(token)));
    return answers.filter(({ status }) => status === 403).length;
  };

  it('40 requests with one of an end user leave the account’s own key alone', async () => {
    const answer = await withinOneToken(async () => {
      const client = await service.account('free');
      const token = await tokenOf(client, 'user-1');
      for (let i = 0; i < 40; i++) await ask(token);
      return await client.get('/v1/account').expect(200);
    });
    expect(limitOf(answer)).toEqual({ limit: '10', remaining: '8' });
  });

  it('an end user has a quarter of the plan, with any of its tokens', async () => {
    const client = await service.account('free');
    const tokens = [await tokenOf(client, 'user-1'), await tokenOf(client, 'user-1')] as const;
    const answer = await ask(tokens[0]);
    expect(answer.status).toBe(403);
    expect(limitOf(answer)).toEqual({ limit: '2', remaining: '1' });
    expect((await allowedOf(tokens[0], 4)) + (await allowedOf(tokens[1], 4))).toBe(4);
    expectError(await ask(tokens[1]));
  });

  it('what is refused takes nothing from the bucket that all tokens of the account share', async () => {
    const client = await service.account('free');
    expect(await allowedOf(await tokenOf(client, 'user-1'), 30)).toBe(5);
    const others = [2, 3, 4].map(async (n) => await allowedOf(await tokenOf(client, `user-${n}`), 5));
    expect(await Promise.all(others)).toEqual([5, 5, 5]);
  });

  it('all of them together have what the plan allows, and a refusal by that takes nothing from an end user', async () => {
    const { client, allowed, refused } = await withinOneToken(async () => {
      const account = await service.account('free');
      const tokens = await Promise.all([1, 2, 3, 4, 5].map((n) => tokenOf(account, `user-${n}`)));
      const counts: number[] = [];
      for (const token of tokens.slice(0, 4)) counts.push(await allowedOf(token, 5));
      return { client: account, allowed: counts, refused: await ask(tokens[4] as string) };
    });
    expect(allowed).toEqual([5, 5, 5, 5]);
    expectError(refused);
    expect(limitOf(refused).limit).toBe('10');
    const keys = await redis.keys(`rate-limit:access-tokens:{${client.accountId}}*`);
    // The shared one and four end users: the fifth has taken nothing.
    expect(keys).toHaveLength(5);
    expect(keys.join()).not.toContain('user-');
  });

  it('an upload with a token and the key pair takes from the bucket of the pairs', async () => {
    const client = await service.account('free');
    const token = await tokenOf(client, 'user-1');
    const both = await client.get('/v1/account').set('Authorization', `Bearer ${token}`).expect(200);
    expect(limitOf(both)).toEqual({ limit: '10', remaining: '8' });
  });
});

describe('D6: the headers', () => {
  it('X-RateLimit-Remaining counts 9, 8 … 0 and stays at 0 through the burst headroom', async () => {
    const answers = await withinOneToken(async () => {
      const client = await service.account('free');
      const all: Response[] = [];
      for (let i = 0; i < 21; i++) all.push(await client.get('/v1/account'));
      return all;
    });
    const refused = answers.pop() as Response;
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const expected = [9, 8, 7, 6, 5, 4, 3, 2, 1, ...Array.from({ length: 11 }, () => 0)];
    expect(answers.map(limitOf)).toEqual(expected.map((remaining) => ({ limit: '10', remaining: String(remaining) })));
    expectError(refused);
  });

  it('X-RateLimit-Reset is the Unix time in whole seconds at which the bucket is full again', async () => {
    const client = await service.account('free');
    const before = await now(redis);
    for (let taken = 1; taken <= 5; taken++) {
      const { headers } = await client.get('/v1/account').expect(200);
      const after = await now(redis);
      const reset = Number(headers['x-ratelimit-reset']);
      expect(reset).toBeGreaterThanOrEqual(Math.ceil(before / 1_000_000 + taken * 6));
      expect(reset).toBeLessThanOrEqual(Math.ceil(after / 1_000_000 + taken * 6));
    }
  });
});

describe('D6: every authenticated request takes one token, whatever its outcome', () => {
  const ID = '00000000-0000-7000-8000-000000000000';

  const requests: [string, number, (client: ApiClient) => PromiseLike<Response>][] = [
    ['200', 200, (client) => client.get('/v1/account')],
    ['200 to HEAD', 200, (client) => request(client.url).head('/v1/account').set(client.headers)],
    ['400 of a parameter', 400, (client) => client.get('/v1/webhooks?limit=0')],
    ['400 of a body that is no JSON', 400, (client) => postText(client, '{')],
    ['400 of a malformed URL', 400, (client) => client.get('/v1/recordings/%ff')],
    ['404 of a resource', 404, (client) => client.get(`/v1/recordings/${ID}`)],
    ['404 of a path', 404, (client) => client.get('/v1/nothing/here')],
    ['404 of a method', 404, (client) => request(client.url).patch('/v1/account').set(client.headers)],
    ['404 to POST', 404, (client) => client.post(`/v1/recordings/${ID}/retry`)],
    ['413', 413, (client) => postText(client, `{"a":"${'x'.repeat(103_000)}"}`)],
  ];

  it('a success and a refusal alike', () =>
    checkRows(requests, async (_, status, send) => {
      const [first, response, last] = await withinOneToken(async () => {
        const client = await service.account('free');
        return [await client.get('/v1/account'), await send(client), await client.get('/v1/account')] as const;
      });
      expect(limitOf(first)).toEqual({ limit: '10', remaining: '9' });
      expect(response.status).toBe(status);
      expect(limitOf(response)).toEqual({ limit: '10', remaining: '8' });
      expect(response.headers['x-ratelimit-reset']).toMatch(/^\d{10}$/);
      expect(limitOf(last)).toEqual({ limit: '10', remaining: '7' });
    }));

  it('204, and 403 of a missing scope', async () => {
    const client = await service.account('free');
    const weak = await service.key(client, ['account:read']);
    expect(limitOf(await weak.get('/v1/webhooks').expect(403)).remaining).toBe('9');
    expect(limitOf(await client.delete(`/v1/account/api-keys/${weak.credentials.id}`).expect(204)).remaining).toBe('8');
  });

  it('500 shows the headers, also when it comes before authentication', async () => {
    for (const [table, figures] of [
      ['webhooks', { limit: '10', remaining: '9' }],
      ['api_keys', { limit: '5', remaining: '5' }],
    ] as const) {
      const client = await service.account('free');
      await service.database.query(`ALTER TABLE ${table} RENAME TO gone`);
      try {
        const response = await client.get('/v1/webhooks').set('X-Forwarded-For', freshAddress()).expect(500);
        expect(limitOf(response)).toEqual(figures);
      } finally {
        await service.database.query(`ALTER TABLE gone RENAME TO ${table}`);
      }
    }
  });

  it('those of a suspended account as well: 403, then 429', async () => {
    const client = await unrefilledAccount();
    await suspend(client);
    for (let i = 0; i < FREE.burst; i++) {
      const { body } = await client.get('/v1/account').expect(403);
      expect(body.error.type).toBe('AccountSuspendedError');
    }
    expectError(await client.get('/v1/account'));
  });
});

describe('D6: requests that fail authentication take from a bucket of their address', () => {
  it('401 with the address’s figures, then 429; and nothing is taken from the account', async () => {
    const address = freshAddress();
    const client = await service.account('free');
    const wrong = { ...client.headers, 'X-Service-API-Secret': `vns_${'0'.repeat(49)}` };
    const remaining: string[] = [];
    for (let i = 0; i < ADDRESS.burst; i++) {
      const response = await stranger(address).set(wrong);
      expect(response.status).toBe(401);
      expect(limitOf(response).limit).toBe('5');
      remaining.push(limitOf(response).remaining);
    }
    expect(remaining).toEqual(['4', '3', '2', '1', '0', '0', '0', '0']);
    expectError(await stranger(address).set(wrong));
    expect(limitOf(await client.get('/v1/account').expect(200)).remaining).toBe('9');
  });

  it('a valid credential is never refused because of its address', async () => {
    const address = freshAddress();
    for (let i = 0; i < ADDRESS_ATTEMPTS; i++) await stranger(address);
    expectError(await stranger(address));
    const client = await service.account('free');
    const response = await client.get('/v1/account').set('X-Forwarded-For', address).expect(200);
    expect(limitOf(response)).toEqual({ limit: '10', remaining: '9' });
  });

  it('every failed authentication takes one: nothing, half a pair, the secret of another key, a revoked key, an invalid token', async () => {
    const address = freshAddress();
    const [client, other] = [await service.account('free'), await service.account('free')];
    const revoked = await service.key(client, ['account:read']);
    await client.delete(`/v1/account/api-keys/${revoked.credentials.id}`).expect(204);
    const { body } = await other.post('/v1/account/access-tokens', { identity: 'x' }).expect(201);
    const ways: Record<string, string>[] = [
      {},
      { 'X-Service-API-Key': client.credentials.key },
      { ...client.headers, 'X-Service-API-Secret': other.credentials.secret },
      revoked.headers,
      { Authorization: 'Bearer x.y.z' },
      { ...client.headers, Authorization: `Bearer ${body.token}` },
    ];
    const seen: unknown[] = [];
    for (const headers of ways) {
      const response = await stranger(address).set(headers);
      seen.push([response.status, limitOf(response).remaining]);
    }
    expect(seen).toEqual([4, 3, 2, 1, 0, 0].map((remaining) => [401, String(remaining)]));
  });

  it('an IPv6 /64 is one address, the next /64 another; an IPv4-mapped address is the IPv4 one', async () => {
    const remainingAt = async (address: string) => limitOf(await stranger(address)).remaining;
    expect(await remainingAt('2001:db8:1:2::1')).toBe('4');
    expect(await remainingAt('2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe('3');
    expect(await remainingAt('2001:DB8:1:2:0:0:0:1')).toBe('2');
    expect(await remainingAt('2001:db8:1:3::1')).toBe('4');
    const address = freshAddress();
    expect(await remainingAt(address)).toBe('4');
    expect(await remainingAt(`::ffff:${address}`)).toBe('3');
  });
});

describe('D6: what takes nothing', () => {
  it('OPTIONS: 204 without credentials, with the headers, and as often as one likes', async () => {
    const address = freshAddress();
    const options = () => request(service.url).options('/v1/recordings').set('X-Forwarded-For', address);
    for (let i = 0; i < ADDRESS_ATTEMPTS; i++) {
      expect(limitOf(await options().expect(204))).toEqual({ limit: '5', remaining: '5' });
    }
    const client = await service.account('free');
    await options().set(client.headers).expect(204);
    expect(limitOf(await client.get('/v1/account')).remaining).toBe('9');
  });

  it('what lies outside /v1, and has no such headers', async () => {
    for (const path of [
      '/',
      '/health/live',
      '/health/ready',
      '/metrics',
      '/openapi.json',
      '/nothing',
      '/v10/account',
    ]) {
      const responses = await sendMany((i) => (i < ADDRESS.burst + 2 ? { url: service.url + path } : null), 4);
      expect(responses.filter(({ status }) => status === 429)).toEqual([]);
      const names = responses.flatMap(({ headers }) => Object.keys(headers));
      expect(names.filter((name) => /ratelimit/.test(name))).toEqual([]);
    }
  });
});

describe('D6: when Redis cannot be reached the API keeps serving, with the same bucket in the process', () => {
  /** What one wait for Redis may take: 250 ms by the design, and what a busy machine adds. */
  const ONE_WAIT_MS = 250 + 400;

  /** A timer of Node counts from the start of the event loop's turn, so a wait may seem shorter by what that turn took. */
  const SHORTEST_WAIT_MS = 200;

  async function serveWith(redisUrl: string, work: (away: TestService) => Promise<void>): Promise<void> {
    const away = await startService(environment, { ROLES: 'api', REDIS_URL: redisUrl });
    try {
      await work(away);
    } finally {
      await away.close();
    }
  }

  /** When a command was sent to Redis, from now on. */
  function sendingTimes({ app }: TestService): number[] {
    const times: number[] = [];
    const redisService = app.get(RedisService);
    const tryCommand = redisService.tryCommand.bind(redisService);
    jest.spyOn(redisService, 'tryCommand').mockImplementation((command) =>
      tryCommand((client) => {
        times.push(Date.now());
        return command(client);
      }),
    );
    return times;
  }

  const fire = (client: ApiClient, times: number, inFlight: number) =>
    sendMany((i) => (i < times ? { url: `${client.url}/v1/webhooks`, headers: client.headers } : null), inFlight);

  it('away from the start: burst allowed and not one more; ready, degraded', async () => {
    await serveWith(`redis://127.0.0.1:${await freePort()}`, async (away) => {
      const client = (await unrefilledAccount()).at(away.url);
      const responses = await fire(client, 40, 10);
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(20);
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(20);
      const { body } = await request(away.url).get('/health/ready').expect(200);
      expect(body.status).toBe('degraded');
    });
  });

  it('frozen: the first requests wait 250 ms and no longer, those of the next second not at all', async () => {
    const proxy = await TcpProxy.to(environment.variables.REDIS_URL as string);
    try {
      await serveWith(proxy.url, async (away) => {
        const client = await away.account('pro');
        await client.get('/v1/webhooks').expect(200);
        proxy.freeze();
        const sent = sendingTimes(away);
        const asked = { url: `${client.url}/v1/webhooks`, headers: client.headers };
        // A busy machine lengthens some of the waits; a service that waits too long lengthens all of them.
        let shortestWait = Infinity;
        for (let i = 0; i < 5 && shortestWait >= ONE_WAIT_MS; i++) {
          const before = sent.length;
          const answers = await sendMany(() => (sent.length === before ? asked : null), 1);
          expect(answers.every(({ status }) => status === 200)).toBe(true);
          shortestWait = Math.min(shortestWait, answers.at(-1)?.ms ?? 0);
          expect(shortestWait).toBeGreaterThanOrEqual(SHORTEST_WAIT_MS);
        }
        expect(shortestWait).toBeLessThan(ONE_WAIT_MS);

        const rest = await fire(client, 60, 1);
        expect(rest.every(({ status }) => status === 200)).toBe(true);
        const times = rest.map(({ ms }) => ms).toSorted((a, b) => a - b);
        expect(times[times.length / 2]).toBeLessThan(SHORTEST_WAIT_MS);
        for (const [i, time] of sent.slice(1).entries())
          expect(time - (sent[i] as number)).toBeGreaterThanOrEqual(1000);
      });
    } finally {
      await proxy.close();
    }
  });

  it('cut and mended: the account’s bucket is the shared one again', async () => {
    const proxy = await TcpProxy.to(environment.variables.REDIS_URL as string);
    try {
      await serveWith(proxy.url, async (away) => {
        const client = (await unrefilledAccount()).at(away.url);
        const shared = () => redis.exists(`rate-limit:account:${client.accountId}`);
        await proxy.cut();
        const responses = await fire(client, 25, 5);
        expect(responses.filter(({ status }) => status === 200)).toHaveLength(20);
        expect(await shared()).toBe(0);
        await proxy.mend();
        await eventually(async () => {
          await client.get('/v1/webhooks');
          return (await shared()) === 1;
        });
      });
    } finally {
      await proxy.close();
    }
  });
});

describe('the script in Redis and its twin in the process', () => {
  const SCRIPT = readFileSync(join(ROOT, 'src/platform/rate-limit/token-bucket.lua'), 'utf8');
  const move = (key: string, { capacity, refill }: TokenBucket, tokens: number) =>
    redis.eval(SCRIPT, 1, key, capacity, refill, tokens);
  const bucketOf = (rate: number, headroom: number) =>
    tokenBucket(rate + headroom, ((rate + headroom) * 60_000) / rate);

  it('give the same answers to any sequence of requests at the same times', async () => {
    const large = fc
      .tuple(fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 20_000, max: 1_000_000 })), fc.nat(30))
      .map(([rate, headroom]) => bucketOf(rate, headroom));
    const small = fc
      .tuple(fc.integer({ min: 1, max: 4 }), fc.nat(4))
      .map(([rate, headroom]) => bucketOf(rate, headroom));
    const step = fc.record({ name: fc.constantFrom('a', 'b'), tokens: fc.constantFrom(0, 1, 1, 1, 3) });
    const scenario = fc.tuple(fc.oneof(large, small), fc.array(step, { minLength: 1, maxLength: 60 }), fc.uuid());
    await fc.assert(
      fc.asyncProperty(scenario, async ([bucket, steps, run]) => {
        let clock = 0;
        const twin = new LocalBuckets(() => clock);
        for (const { name, tokens } of steps) {
          const answer = await move(`twin:${run}:${name}`, bucket, tokens);
          const [taken, backlog, time] = answer as [number, number, number];
          clock = time;
          const states = Array.from({ length: tokens }).flatMap(() => twin.takeFromAll([{ name, bucket }], 1));
          expect(taken).toBe(states.filter((state) => state.allowed).length);
          expect(twin.takeFromAll([{ name, bucket }], 0)).toEqual([bucketState(bucket, false, backlog, time)]);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('agree when an account changes its plan in between', async () => {
    const plans = fc.constantFrom(bucketOf(10, 10), bucketOf(100, 100), bucketOf(7, 0));
    await fc.assert(
      fc.asyncProperty(fc.array(plans, { minLength: 1, maxLength: 60 }), fc.uuid(), async (sequence, run) => {
        let clock = 0;
        const twin = new LocalBuckets(() => clock);
        for (const bucket of sequence) {
          const answer = await move(`plans:${run}`, bucket, 1);
          const [taken, backlog, time] = answer as [number, number, number];
          clock = time;
          expect(twin.takeFromAll([{ name: 'a', bucket }], 1)).toEqual([
            bucketState(bucket, taken === 1, backlog, time),
          ]);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('leave nothing behind in Redis once a bucket is full again', async () => {
    // One token a minute: however slow this test is, the bucket is full again a minute for each token later.
    const bucket = tokenBucket(60, 3_600_000);
    for (const taken of [1, 2, 3]) {
      await move('expiring', bucket, 1);
      const ttl = await redis.pttl('expiring');
      expect(ttl).toBeGreaterThan(taken * 60_000 - 30_000);
      expect(ttl).toBeLessThanOrEqual(taken * 60_000 + 1000);
    }
  });
});

function postText(client: ApiClient, text: string): PromiseLike<Response> {
  return request(client.url).post('/v1/webhooks').set(client.headers).type('application/json').send(text);
}
