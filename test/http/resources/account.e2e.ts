import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { RecordingErasureService } from '../../../src/modules/recordings/recording-erasure.service.js';
import { CounterAuditService } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { deleteOldBreakdowns } from '../../../src/modules/recordings/usage-counters/usage-breakdown.queries.js';
import { compactUsageCounters } from '../../../src/modules/recordings/usage-counters/usage-counters.queries.js';
import { RedisService } from '../../../src/platform/redis/redis.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import { UUID } from '../../support/http/matchers.js';
import { ACCOUNT } from '../../support/http/response-shapes.js';
import { backdate, fail, transcribe } from '../../support/state/recording-states.js';

const CODES = '/v1/account/sign-in-codes';
const NOTHING = { recordings_count: 0, total_duration_seconds: 0, storage_used_bytes: 0 };

const service = useService({ ROLES: 'api', RECONCILE_SECONDS: '0' });
let client: ApiClient;

beforeEach(async () => {
  client = await service.account();
});

describe('account', () => {
  it('is shown with exactly the fields of its shape (2.1, D2, D3)', async () => {
    const answer = await client
      .get('/v1/account')
      .expect(200)
      .expect('Content-Type', 'application/json; charset=utf-8');

    expect(answer.body).toStrictEqual({
      ...ACCOUNT,
      id: client.accountId,
      name: expect.stringMatching(/^Account /),
      email: 'test@example.com',
      status: 'active',
      plan: 'enterprise',
      usage: { current_month: NOTHING, previous_month: NOTHING },
    });
    expect(answer.body.id).toMatch(UUID);
    expectHeaders(answer);
  });

  it('shows the plan (D5)', async () => {
    for (const plan of ['free', 'pro'] as const) {
      const { body } = await (await service.account(plan)).get('/v1/account').expect(200);
      expect(body.plan).toBe(plan);
    }
  });

  it('shows at once what the operator changed', async () => {
    const before = await client.get('/v1/account').expect(200);
    await service.app.get(AccountService).update(client.accountId, { name: 'Renamed', plan: 'pro' });

    const { body } = await client.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '100');
    expect(body).toMatchObject({ name: 'Renamed', plan: 'pro', created_at: before.body.created_at });
    expect(body.updated_at >= before.body.updated_at).toBe(true);
  });
});

describe('sign-in codes', () => {
  const create = async (): Promise<{ code: string; expires_at: string }> =>
    (await client.post(CODES).expect(201)).body as { code: string; expires_at: string };
  const exchange = (code: unknown) => request(service.url).post(`${CODES}/exchange`).send({ code });
  const redis = () => service.app.get(RedisService).client;
  const nameOf = (code: string): string => `sign-in:${createHash('sha256').update(code).digest('base64url')}`;

  it('D65: is exchanged once for the key pair that made it, for ten minutes', async () => {
    const { code, expires_at } = await create();
    const lifetime = await redis().pttl(nameOf(code));
    expect(lifetime).toBeGreaterThan(590_000);
    expect(lifetime).toBeLessThanOrEqual(600_000);
    expect(Math.abs(Date.parse(expires_at) - Date.now() - 600_000)).toBeLessThan(10_000);
    const { key, secret } = client.credentials;
    const { body } = await exchange(code).expect(200);
    expect(body).toEqual({ api_key: key, api_secret: secret });
    const again = await exchange(code);
    expectError(again, 'AuthenticationError');
    expect(again.body.error.message).toMatch(/^This sign-in code was used/);
  });

  it('D65: of many requests with one code, one gets the pair', async () => {
    const { code } = await create();
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(code)));
    const with200 = answers.filter(({ status }) => status === 200);
    expect([with200.length, answers.filter(({ status }) => status === 401).length]).toEqual([1, 9]);
  });

  it('D65: Redis has neither the code nor the secret', async () => {
    const { code } = await create();
    const stored = await redis().get(nameOf(code));
    expect(stored).not.toBeNull();
    expect(stored).not.toContain(client.credentials.secret);
    expect(stored).not.toContain(client.credentials.key);
    await redis().del(nameOf(code));
    await exchange(code).expect(401);
  });

  it('takes the pair from a Bearer header too', async () => {
    const { key, secret } = client.credentials;
    const made = await request(service.url).post(CODES).set('Authorization', `Bearer ${key}.${secret}`).expect(201);
    const { body } = await exchange(made.body.code).expect(200);
    expect(body).toEqual({ api_key: key, api_secret: secret });
  });

  it('refuses what is no code', async () => {
    await exchange('vnc_unknown').expect(401);
    expectInvalid(await exchange(''), 'code');
    expectInvalid(await exchange(undefined), 'code');
    expectInvalid(await exchange(1), 'code');
  });

  it('D65: gives no code to an access token or without credentials', async () => {
    const { body } = await client.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
    await request(service.url)
      .post(CODES)
      .set('Authorization', `Bearer ${body.token as string}`)
      .expect(403);
    await request(service.url).post(CODES).expect(401);
  });
});

describe('the exchange of sign-in codes', () => {
  const limited = useService({ ROLES: 'api', ADDRESS_RATE_LIMIT: '5/5' });

  it('D65: is limited by the address', async () => {
    const tries = [];
    for (let i = 0; i < 6; i++) {
      tries.push((await request(limited.url).post('/v1/account/sign-in-codes/exchange').send({ code: 'x' })).status);
    }
    expect(tries.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(tries[5]).toBe(429);
  });
});

/** Uploads as an end user. @returns the id of the recording */
async function uploadAs(by: ApiClient, identity: string, idempotencyKey?: string): Promise<string> {
  const { body } = await by.post('/v1/account/access-tokens', { identity }).expect(201);
  const sending = request(by.url)
    .post('/v1/recordings')
    .set('Authorization', `Bearer ${body.token}`)
    .field('custom_tags', '{"name":"Zoe Quist"}')
    .attach('file', silenceWav(0.1), 'note.wav');
  if (idempotencyKey !== undefined) sending.set('Idempotency-Key', idempotencyKey);
  return (await sending.expect(201)).body.id as string;
}

const erase = (userId: string) => client.delete(`/v1/users/${encodeURIComponent(userId)}`);

async function feed(): Promise<{ sequence: number; event: string; text: string }[]> {
  const { body } = await client.get('/v1/events?limit=100').expect(200);
  return (body.events as { sequence: number; event: string }[]).map(({ sequence, event, ...rest }) => ({
    sequence,
    event,
    text: JSON.stringify(rest),
  }));
}

async function countOf(sql: string, ...parameters: unknown[]): Promise<number> {
  const [row] = await service.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${sql}`,
    parameters,
  );
  return row?.count ?? -1;
}

describe('the erasure of an end user (D46)', () => {
  it('deletes the recordings in every state, removes user and tags from the events, and keeps the usage', async () => {
    const webhook = { url: 'https://hooks.example.com/notes', events: ['recording.transcribed'] };
    await client.post('/v1/webhooks', webhook).expect(201);
    const [processing, transcribed, failed, deleted] = [
      await uploadAs(client, 'zoe/1'),
      await uploadAs(client, 'zoe/1', 'a key'),
      await uploadAs(client, 'zoe/1'),
      await uploadAs(client, 'zoe/1'),
    ];
    const other = await uploadAs(client, 'grace');
    await transcribe(service, transcribed, { text: 'what nobody may read' });
    await fail(service, failed);
    await service.database.query(
      `WITH sent AS (UPDATE deliveries SET last_response = 'hello Zoe' WHERE account_id = $1 RETURNING id)
       INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms, status, response)
       SELECT id, 1, now(), 1, 500, 'sorry Zoe' FROM sent`,
      [client.accountId],
    );
    await client.delete(`/v1/recordings/${deleted}`).expect(204);
    const usage = async () => (await client.get('/v1/account').expect(200)).body.usage.current_month;
    const before = await usage();

    const answer = await erase('zoe/1').expect(202);
    expect(answer.body).toEqual({ deleted_recordings: 3, redacted_events: 7, complete: true });

    const { body: list } = await client.get('/v1/recordings').expect(200);
    expect([list.total, list.recordings.map(({ id }: { id: string }) => id)]).toEqual([1, [other]]);
    for (const id of [processing, transcribed, failed]) {
      expectError(await client.get(`/v1/recordings/${id}`), 'NotFoundError');
      expect(await countOf('transcriptions WHERE recording_id = $1', id)).toBe(0);
      expect(await countOf('object_removals WHERE object_key LIKE $1 AND remove_after <= now()', `%${id}%`)).toBe(1);
    }
    const after = await usage();
    expect(after).toEqual({ ...before, storage_used_bytes: before.storage_used_bytes / 4 });
    expect((await client.get('/v1/account/quotas').expect(200)).body.quotas[2].used).toBeCloseTo(0.1);

    expect(await countOf(`deliveries WHERE account_id = $1`, client.accountId)).toBe(1);
    expect(await countOf(`deliveries WHERE last_response IS NOT NULL`)).toBe(0);
    expect(await countOf(`delivery_attempts WHERE response IS NOT NULL`)).toBe(0);

    const events = await feed();
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
    expect(events.filter(({ event }) => event === 'recording.deleted')).toHaveLength(4);
    expect(events.filter(({ text }) => /zoe|Quist/.test(text) && !text.includes('grace'))).toEqual([]);
    expect(events.filter(({ text }) => text.includes('"identity":"grace"'))).toHaveLength(1);
    expect(await countOf(`idempotency_keys WHERE account_id = $1`, client.accountId)).toBe(0);
    expect(await countOf(`user_erasures`)).toBe(0);

    const again = await erase('zoe/1').expect(202);
    expect(again.body).toEqual({ deleted_recordings: 0, redacted_events: 0, complete: true });
  });

  it('takes what waited to be transcribed again out of the queue of the account', async () => {
    const id = await uploadAs(client, 'zoe');
    await transcribe(service, id);
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    const queued = async () => (await client.get('/v1/account/quotas').expect(200)).body.quotas[2].used as number;
    expect(await queued()).toBeCloseTo(0.1);
    await erase('zoe').expect(202);
    expect(await queued()).toBe(0);
  });

  it('touches no other account, and takes new uploads of the user', async () => {
    const stranger = await service.account();
    const [, id] = [await uploadAs(client, 'zoe'), await uploadAs(stranger, 'zoe')];
    await erase('zoe').expect(202);
    expect((await stranger.get(`/v1/recordings/${id}`).expect(200)).body.user_id).toBe('zoe');
    const next = await uploadAs(client, 'zoe');
    expect((await client.get(`/v1/recordings/${next}`).expect(200)).body.user_id).toBe('zoe');
  });

  it('ends at the time of the request: what comes while it is completed stays, with its key, events and usage', async () => {
    const before = await uploadAs(client, 'zoe', 'first');
    await service.database.query(`INSERT INTO user_erasures VALUES ($1, 'zoe', clock_timestamp())`, [client.accountId]);
    const after = await uploadAs(client, 'zoe', 'second');
    const worker = await startService(service.environment, { ROLES: 'deliverer' });
    await eventually(async () => (await countOf('user_erasures')) === 0);
    await worker.close();
    expectError(await client.get(`/v1/recordings/${before}`), 'NotFoundError');
    expect((await client.get(`/v1/recordings/${after}`).expect(200)).body.user_id).toBe('zoe');
    expect(await countOf('idempotency_keys WHERE account_id = $1', client.accountId)).toBe(1);
    const naming = (await feed()).filter(({ text }) => text.includes('zoe'));
    expect(naming.map(({ text }) => text.includes(after))).toEqual([true]);

    // And again, with an upload in the middle: the usage of the user is that of the upload alone.
    const erasure = service.app.get(RecordingErasureService);
    const spy = jest.spyOn(erasure, 'forgetIdempotencyKeys');
    spy.mockImplementationOnce(async () => void (await uploadAs(client, 'zoe')));
    await erase('zoe').expect(202);
    const { body } = await client.get('/v1/account/usage?by=user').expect(200);
    const counts = (body.items as { user_id: string | null; recordings_count: number }[]).map(
      ({ user_id: userId, recordings_count: count }) => [userId, count],
    );
    expect(counts).toEqual([
      [null, 2],
      ['zoe', 1],
    ]);
  });

  it('refuses an id that cannot be one', async () => {
    for (const id of ['a\u0000b', 'x'.repeat(256)]) {
      expectError(await erase(id), 'ValidationError', expect.objectContaining({ field: 'user_id' }));
    }
  });

  it('is right also when two erase the same user at the same time', async () => {
    await service.database.query(
      `INSERT INTO recordings (id, account_id, user_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
         audio_format, upload_source, status, created_at, updated_at)
       SELECT gen_random_uuid(), $1::uuid, 'zoe', 'n.wav', $1::uuid || '/' || i, 'b', 1000, 10, 'wav', 'api', 'processing', now(), now()
       FROM generate_series(1, 300) i`,
      [client.accountId],
    );
    let deleted = 0;
    // On a slow machine they stop when their time is over, and go on when they are asked again.
    for (let isComplete = false; !isComplete;) {
      const answers = await Promise.all([1, 2, 3].map(() => erase('zoe').expect(202)));
      for (const { body } of answers) deleted += body.deleted_recordings as number;
      isComplete = answers.every(({ body }) => body.complete);
    }
    expect(deleted).toBe(300);
    expect(await countOf('events WHERE account_id = $1', client.accountId)).toBe(300);
  });

  it('is completed by the reconciler when the process that began it has died', async () => {
    const id = await uploadAs(client, 'zoe');
    await service.database.query(`INSERT INTO user_erasures VALUES ($1, 'zoe', now())`, [client.accountId]);
    const worker = await startService(service.environment, { ROLES: 'deliverer' });
    await eventually(async () => (await countOf('user_erasures')) === 0);
    expectError(await client.get(`/v1/recordings/${id}`), 'NotFoundError');
    expect(JSON.stringify(await feed())).not.toContain('zoe');
    await worker.close();
  });
});

const USAGE = '/v1/account/usage';
const DAY_MS = 86_400_000;
/** Of what runs beside the actors of a test: it leaves the processor to them, most of the time. */
const PAUSE_MS = 10;
const dayBefore = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

interface Figures {
  recordings_count: number;
  transcribed_count: number;
  failed_count: number;
  total_duration_seconds: number;
  storage_used_bytes: number;
}
type Item = Figures & { day?: string; key_id?: string | null; user_id?: string | null };

const NO_FIGURES: Figures = {
  recordings_count: 0,
  transcribed_count: 0,
  failed_count: 0,
  total_duration_seconds: 0,
  storage_used_bytes: 0,
};

describe('GET /v1/account/usage', () => {
  const report = async (query = ''): Promise<{ items: Item[]; next_uri: string | null }> =>
    (await client.get(`${USAGE}${query}`).expect(200)).body;

  /** Of an end user, with the token of a key. */
  async function uploadFor(by: ApiClient, identity: string | null, audio: Buffer): Promise<string> {
    if (identity === null) return (await by.upload(audio).expect(201)).body.id;
    const { body: token } = await by.post('/v1/account/access-tokens', { identity }).expect(201);
    return (await by.upload(audio).set('Authorization', `Bearer ${token.token}`).expect(201)).body.id;
  }

  it('has an item for each of the last 30 days, the present one last', async () => {
    const { body: recording } = await client.upload(silenceWav(0.5)).expect(201);
    const { body } = await client.get(USAGE).expect(200);

    expect(body).toEqual({
      days: 30,
      by: 'day',
      from: dayBefore(29),
      to: dayBefore(0),
      items: expect.any(Array),
      uri: `${USAGE}?days=30&by=day`,
      next_uri: null,
    });
    expect(body.items.map(({ day }: Item) => day)).toEqual(Array.from({ length: 30 }, (_, i) => dayBefore(29 - i)));
    const { file_size_bytes: bytes } = recording;
    const used = { ...NO_FIGURES, recordings_count: 1, total_duration_seconds: 0.5, storage_used_bytes: bytes };
    expect(body.items.at(-1)).toEqual({ day: dayBefore(0), ...used });
    expect(body.items[0]).toEqual({ day: dayBefore(29), ...NO_FIGURES });
    expect((await report('?by=key')).items).toEqual([{ key_id: client.credentials.id, ...used }]);
    expect((await report('?by=user')).items).toEqual([{ user_id: null, ...used }]);
  });

  it('counts on the day of creation, and only the days asked for', async () => {
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await backdate(service, body.id, `${dayBefore(2)}T23:59:59.999Z`);
    await transcribe(service, body.id, { durationMs: 250 });

    const expected = { recordings_count: 1, transcribed_count: 1, total_duration_seconds: 0.25 };
    expect((await report('?days=3')).items[0]).toMatchObject({ day: dayBefore(2), ...expected });
    expect((await report('?days=3&by=key')).items).toEqual([expect.objectContaining(expected)]);
    for (const by of ['key', 'user']) expect((await report(`?days=2&by=${by}`)).items).toEqual([]);
  });

  it('refuses other days, groups and pages, naming the field', () =>
    checkRows(
      [
        ['days=0', 'days'],
        ['days=366', 'days'],
        ['days=7&days=8', 'days'],
        ['by=week', 'by'],
        ['by=key&limit=101', 'limit'],
        ['limit=10', 'limit'],
        ['by=day&after=x', 'after'],
        ['by=user&after=%01', 'after'],
      ],
      async (query, field) => expectInvalid(await client.get(`${USAGE}?${query}`), field),
    ));

  it('gives end users in the order of their ids, a page at a time, those without one first', async () => {
    const identities = ['b', 'ä & ö?', 'a', 'B', null];
    for (const identity of identities) await uploadFor(client, identity, silenceWav(0.1));
    await compactUsageCounters(service.database);
    await uploadFor(client, 'c', silenceWav(0.1));

    const seen: unknown[] = [];
    let uri: string | null = `${USAGE}?by=user&limit=2&days=1`;
    while (uri !== null) {
      const { body }: { body: Awaited<ReturnType<typeof report>> } = await client.get(uri).expect(200);
      expect(body.items.length).toBeLessThanOrEqual(2);
      seen.push(...body.items.map((item) => item.user_id));
      uri = body.next_uri;
    }
    expect(seen).toEqual([null, 'B', 'a', 'b', 'c', 'ä & ö?']);
    const { body: first } = await client.get(`${USAGE}?by=user&limit=1`).expect(200);
    expect(first.next_uri).toBe(`${USAGE}?days=30&by=user&limit=1&after=`);
    expect((await client.get(first.next_uri).expect(200)).body.items[0].user_id).toBe('B');
  });

  /** What must be counted, from what was done. */
  class Expected {
    readonly groups = new Map<string, Figures>();

    add(values: string[], change: Partial<Figures>): void {
      for (const value of values) {
        const figures = { ...(this.groups.get(value) ?? NO_FIGURES) };
        for (const [name, by] of Object.entries(change) as [keyof Figures, number][])
          figures[name] = Math.round((figures[name] + by) * 1000) / 1000;
        this.groups.set(value, figures);
      }
    }
  }

  it('is exact while uploads, failures, retries, deletes and compactions happen at once', async () => {
    const keys = [client, await service.key(client, ['recordings:read', 'recordings:write'])];
    const identities = [null, 'user-1', 'user-2'];
    const expected = new Expected();

    async function act(index: number): Promise<void> {
      const by = keys[index % 2] as ApiClient;
      const identity = identities[index % 3] ?? null;
      const groups = ['day', `key ${by.credentials.id}`, `user ${identity}`];
      const audio = silenceWav((1 + index) / 100);
      const id = await uploadFor(by, identity, audio);
      expected.add(groups, {
        recordings_count: 1,
        total_duration_seconds: (1 + index) / 100,
        storage_used_bytes: audio.length,
      });
      if (index % 4 === 0) {
        await fail(service, id);
        expected.add(groups, { failed_count: 1 });
        if (index % 8 === 0) {
          await by.post(`/v1/recordings/${id}/retry`).expect(202);
          expected.add(groups, { failed_count: -1 });
          await transcribe(service, id, { durationMs: (1 + index) * 10 });
          expected.add(groups, { transcribed_count: 1 });
        }
      } else if (index % 4 === 1) {
        await transcribe(service, id, { durationMs: 777 });
        expected.add(groups, { transcribed_count: 1, total_duration_seconds: 0.777 - (1 + index) / 100 });
      }
      if (index % 5 < 2) {
        await by.delete(`/v1/recordings/${id}`).expect(204);
        expected.add(groups, { storage_used_bytes: -audio.length });
      }
    }

    let acting = true;
    const folding = [1, 2].map(async () => {
      while (acting) {
        await compactUsageCounters(service.database);
        await delay(PAUSE_MS);
      }
    });
    const audit = new CounterAuditService(service.database);
    const watching = (async () => {
      while (acting) {
        expect(await audit.breakdownDifferences(client.accountId)).toEqual([]);
        expect(await audit.differences(client.accountId)).toEqual([]);
        await delay(PAUSE_MS);
      }
    })();
    const queue = Array.from({ length: 48 }, (_, i) => i);
    const actors = Array.from({ length: 6 }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await act(next);
    });
    await Promise.all(actors).finally(() => (acting = false));
    await Promise.all([...folding, watching]);

    const check = async (): Promise<void> => {
      const found = new Map<string, Figures>();
      const [today] = (await report('?days=1')).items;
      const { day: _, ...figures } = today as Item;
      found.set('day', figures);
      for (const { key_id: id, ...item } of (await report('?by=key')).items) found.set(`key ${id}`, item);
      for (const { user_id: id, ...item } of (await report('?by=user')).items) found.set(`user ${id}`, item);
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected.groups));
    };
    await check();
    await compactUsageCounters(service.database);
    await check();
    // The rows agree with what was counted.
    const { body } = await client.get('/v1/account').expect(200);
    const day = expected.groups.get('day') as Figures;
    expect(body.usage.current_month).toMatchObject({ recordings_count: day.recordings_count });
  });

  it('is verified and corrected by counters:verify and counters:rebuild', async () => {
    const id = await uploadFor(client, 'user-1', silenceWav(0.1));
    await uploadFor(client, null, silenceWav(0.2));
    await fail(service, id);
    await compactUsageCounters(service.database);
    const before = await Promise.all(['day', 'key', 'user'].map((by) => report(`?by=${by}`)));
    const audit = new CounterAuditService(service.database);
    expect(await audit.breakdownDifferences(client.accountId)).toEqual([]);

    await service.database.query(
      `UPDATE usage_breakdowns SET bytes = bytes + 5, failed = failed - 1 WHERE account_id = $1 AND value = 'user-1'`,
      [client.accountId],
    );
    await service.database.query(`DELETE FROM usage_breakdowns WHERE account_id = $1 AND dimension = 'key'`, [
      client.accountId,
    ]);
    const found = await audit.breakdownDifferences(client.accountId);
    expect(found).toContainEqual(expect.objectContaining({ value: 'user-1', figure: 'failed', counted: 0, actual: 1 }));
    expect(found).toContainEqual(
      expect.objectContaining({
        dimension: 'key',
        value: client.credentials.id,
        figure: 'accepted',
        counted: 0,
        actual: 2,
      }),
    );
    expect(await audit.rebuild(client.accountId)).toBe(1);
    expect(await audit.breakdownDifferences(client.accountId)).toEqual([]);
    expect(await Promise.all(['day', 'key', 'user'].map((by) => report(`?by=${by}`)))).toEqual(before);
  });

  it('counts for no end user what an erased one has used (D46)', async () => {
    await uploadFor(client, 'user-1', silenceWav(0.1));
    await compactUsageCounters(service.database);
    await uploadFor(client, 'user-1', silenceWav(0.2));
    await uploadFor(client, 'user-2', silenceWav(0.3));
    await client.delete('/v1/users/user-1').expect(202);

    const erased = { ...NO_FIGURES, recordings_count: 2, total_duration_seconds: 0.3 };
    const check = async () => {
      const { items } = await report('?by=user');
      expect(items).toEqual([{ user_id: null, ...erased }, expect.objectContaining({ user_id: 'user-2' })]);
    };
    await check();
    await compactUsageCounters(service.database);
    await check();
    // Those of the next one are added to them.
    await client.delete('/v1/users/user-2').expect(202);
    await compactUsageCounters(service.database);
    const { items } = await report('?by=user');
    expect(items).toEqual([{ user_id: null, ...erased, recordings_count: 3, total_duration_seconds: 0.6 }]);
  });

  it('keeps the figures of keys and end users for 400 days', async () => {
    const add = (days: number) =>
      service.database.query(
        `INSERT INTO usage_breakdowns (account_id, dimension, value, day, accepted, transcribed, failed, duration_ms, bytes)
         VALUES ($1, 'user', 'old', $2, 1, 0, 0, 0, 0)`,
        [client.accountId, dayBefore(days)],
      );
    for (const days of [364, 399, 401, 500]) await add(days);
    while ((await deleteOldBreakdowns(service.database, 1)) > 0);
    const rows = await service.database.query('SELECT 1 FROM usage_breakdowns WHERE account_id = $1', [
      client.accountId,
    ]);
    expect(rows).toHaveLength(2);
    expect((await report('?by=user&days=365')).items).toEqual([expect.objectContaining({ recordings_count: 1 })]);
  });
});
