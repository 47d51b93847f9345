import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request, { type Response } from 'supertest';
import { insertReservations } from '../../../src/platform/storage/object-removals.service.js';
import { ObjectStore } from '../../../src/platform/storage/object-store.js';
import { Spool } from '../../../src/platform/storage/spool.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { startStopwatch } from '../../support/cpu-wait.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { failRecordings } from '../../support/state/recording-events.js';
import { eventually } from '../../../src/testing/eventually.js';
import { rowOf, useFleet } from '../../support/service/fleet.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { expectUploadState, uploadState } from '../../support/state/upload-state.js';

/** As the reconciler's advisory lock. */
const RECONCILER_LOCK = 7_305_119;
/** A forgotten upload is looked for after ten seconds. */
const FORGOTTEN = `updated_at = updated_at - interval '10 seconds'`;

const fleet = useFleet();
const { environment } = fleet;

/** @returns the result, and the milliseconds until then, but for those in which other processes had the CPU. */
async function timed<T>(work: PromiseLike<T>): Promise<[T, number]> {
  const elapsed = startStopwatch();
  const result = await work;
  return [result, elapsed()];
}

describe('Redis goes, and comes back', () => {
  it('uploads, lists, texts and webhooks are served meanwhile; pending work is done when it is back', async () => {
    const proxy = await fleet.proxyTo('REDIS_URL');
    const service = await fleet.service('api,worker', { REDIS_URL: proxy.url });
    const client = await service.account();
    const receiver = await fleet.receiver();
    const { body: done } = await client.upload(silenceWav(0.1)).expect(201);
    await client.finished(done.id);
    await proxy.cut();

    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const [{ body: pending }, uploadMs] = await timed(client.upload(silenceWav(0.1)).expect(201));
    const [, listMs] = await timed(client.get('/v1/recordings').expect(200));
    const [, textMs] = await timed(client.get(`/v1/recordings/${done.id}/transcription`).expect(200));
    reportMeasurement(
      `without Redis: upload ${uploadMs.toFixed()} ms, list ${listMs.toFixed()} ms, text ${textMs.toFixed()} ms`,
    );
    for (const ms of [uploadMs, listMs, textMs]) expect(ms).toBeLessThan(4000);
    const { body: ready } = await request(service.url).get('/health/ready').expect(200);
    expect(ready).toMatchObject({ status: 'degraded', checks: { redis: expect.stringMatching(/unavailable/) } });

    await service.database.query(`UPDATE recordings SET ${FORGOTTEN} WHERE id = $1`, [pending.id]);
    await proxy.mend();
    expect(await client.finished(pending.id)).toMatchObject({ status: 'transcribed' });
    await receiver.waitFor(({ length }) => length === 1);
    await eventually(async () => (await request(service.url).get('/health/ready')).body.status === 'ok');
  });

  it('a service that is started without Redis transcribes and delivers, and goes on as soon as there is one', async () => {
    const proxy = await fleet.proxyTo('REDIS_URL');
    await proxy.cut();
    const service = await fleet.service('api,worker', { REDIS_URL: proxy.url });
    const client = await service.account();
    const receiver = await fleet.receiver();
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    for (const count of [1, 2]) {
      const { body } = await client.upload(silenceWav(0.1)).expect(201);
      expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
      await receiver.waitFor(({ length }) => length === count);
      await proxy.mend();
    }
  });

  it('killed and started again, empty: jobs are processed and limits are shared as before', async () => {
    const redis = await fleet.privateRedis();
    const service = await fleet.service('api,worker', { REDIS_URL: redis.url });
    const client = await service.account('free');
    const { body: first } = await client.upload(silenceWav(0.1)).expect(201);
    await eventually(async () => (await rowOf(service, first.id)).status === 'transcribed');
    await redis.kill();
    await client.get('/v1/account').expect(200);
    await redis.start();

    const connection = fleet.redis(redis.url);
    await eventually(async () => {
      await client.get('/v1/account');
      return (await connection.exists(`rate-limit:account:${client.accountId}`)) === 1;
    });
    const owner = await service.account();
    const { body: second } = await owner.upload(silenceWav(0.1)).expect(201);
    // Then only its job can lead to it: the reconciler takes up what was forgotten for ten seconds.
    await service.database.query(`UPDATE recordings SET updated_at = now() + interval '1 hour' WHERE id = $1`, [
      second.id,
    ]);
    await owner.finished(second.id);
  });
});

describe('Postgres goes, and comes back', () => {
  function expectUnavailable(response: Response): void {
    expect(response.status).toBe(503);
    expect(response.body).toEqual({
      error: { code: 5003, type: 'ServiceUnavailableError', message: expect.any(String), details: {} },
    });
    expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  }

  it('503 with Retry-After within 2 s and never 401, showing the address’s bucket and taking nothing (D6, D14)', async () => {
    const proxy = await fleet.proxyTo('DATABASE_URL');
    const service = await fleet.service('api', { DATABASE_URL: proxy.url, ADDRESS_RATE_LIMIT: '5/8' });
    const client = await service.account('free');
    await client.get('/v1/account').expect(200);
    await proxy.cut();
    // Cached credentials are used while Redis keeps its copy of their version.
    expectUnavailable(await client.get('/v1/account'));
    await fleet.redis().flushdb();
    for (let i = 0; i < 12; i++) {
      const wrong = { ...client.headers, 'X-Service-API-Secret': client.headers['X-Service-API-Secret'] as string };
      const [response, ms] = await timed(request(service.url).get('/v1/account').set(wrong));
      expectUnavailable(response);
      expect(ms).toBeLessThan(2000);
      expect(response.headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '5' });
    }
    expectUnavailable(await client.upload(silenceWav(0.1)));
    // Who shows no credentials need not be looked up.
    expect((await request(service.url).get('/v1/account')).status).toBe(401);
    expect((await request(service.url).get('/v1/nothing').set(client.headers)).status).toBe(404);
    const { body } = await request(service.url).get('/health/ready').expect(503);
    expect(body.status).toBe('unavailable');
    await request(service.url).get('/health/live').expect(200);

    await proxy.mend();
    const response = await eventually(async () => {
      const answer = await client.get('/v1/account');
      return answer.status === 200 && answer;
    });
    expect(response.headers['x-ratelimit-remaining']).toBe('9');
    await request(service.url).get('/health/ready').expect(200);
  });

  it('a process whose sessions are all ended, also during requests, keeps running and answers 200 or 503', async () => {
    const both = await fleet.process('api,worker');
    const admin = await fleet.postgres();
    const desk = await fleet.service('api');
    const client = (await desk.account()).at(both.url);
    await desk.close();
    let ending = true;
    const statuses: number[] = [];
    const ask = async (): Promise<void> => {
      while (ending) statuses.push((await fetch(`${both.url}/v1/recordings`, { headers: client.headers })).status);
    };
    const asking = Promise.all([ask(), ask(), ask(), ask()]);
    for (let round = 0; round < 12; round++) {
      const before = statuses.length;
      await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      await eventually(() => statuses.length > before + 8);
    }
    ending = false;
    await asking;
    expect([...new Set(statuses)].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    await client.get('/v1/account').expect(200);
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    expect((await both.end('SIGTERM')).code).toBe(0);
  });

  it('a recording that is being transcribed is not started again: its result is saved when Postgres is back', async () => {
    const proxy = await fleet.proxyTo('DATABASE_URL');
    const desk = await fleet.service('api');
    await fleet.service('worker', { DATABASE_URL: proxy.url });
    const client = await desk.account();
    const { body } = await client.upload('ss-0880.wav').expect(201);
    await eventually(async () => (await rowOf(desk, body.id)).held);
    await proxy.cut();
    expect((await rowOf(desk, body.id)).status).toBe('processing');
    await proxy.mend();
    const done = await eventually(async () => {
      const row = await rowOf(desk, body.id);
      return row.status === 'transcribed' && row;
    }, 90_000);
    expect(done.attempt).toBe(1);
  });
});

describe('a process that holds the reconciler’s lock', () => {
  it('and freezes, loses it: another one takes over', async () => {
    const desk = await fleet.service('api');
    const client = await desk.account();
    const [admin, keeper] = [await fleet.postgres(), await fleet.postgres()];
    const held = async (): Promise<number | null> => {
      const { rows } = await admin.query(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND granted AND database =
           (SELECT oid FROM pg_database WHERE datname = current_database())`,
        [RECONCILER_LOCK],
      );
      return rows[0]?.pid ?? null;
    };
    // Both are up before either can have the lock, so that nothing depends on how long a start takes.
    await keeper.query('SELECT pg_advisory_lock($1)', [RECONCILER_LOCK]);
    const kept = await held();
    const [frozen, spare] = await Promise.all([fleet.process('worker'), fleet.process('worker')]);
    spare.signal('SIGSTOP');
    const nobodyRuns = (sql: string) =>
      eventually(async () => {
        const { rowCount } = await admin.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
             AND pid <> pg_backend_pid() AND query LIKE $1`,
          [`%${sql}%`],
        );
        return rowCount === 0;
      });
    // What it still asks of Postgres could otherwise take the lock in the moment when the keeper gives it up.
    await nobodyRuns('pg_try_advisory_xact_lock');
    // Tasks that cannot get on keep the lock for a second each, so that there is time to freeze their process.
    await admin.query(
      `BEGIN; LOCK TABLE idempotency_keys, object_removals, deliveries, recordings, request_errors, usage_counter_deltas,
         user_erasures, webhook_redeliveries IN ACCESS EXCLUSIVE MODE`,
    );
    await keeper.query('SELECT pg_advisory_unlock($1)', [RECONCILER_LOCK]);
    const session = await eventually(async () => {
      const pid = await held();
      return pid !== kept && pid;
    });
    frozen.signal('SIGSTOP');
    spare.signal('SIGCONT');
    expect(await held()).toBe(session);
    await admin.query('ROLLBACK');
    // Postgres still carries out the statement that waited for the table, and it must not find what follows.
    await nobodyRuns('idempotency_keys');
    // Only the holder of the lock deletes it.
    await admin.query(
      `INSERT INTO idempotency_keys (account_id, identity, key, fingerprint, recording_id, created_at)
       VALUES ($1, '', 'expired', '', gen_random_uuid(), now() - interval '2 days')`,
      [client.accountId],
    );

    const [, ms] = await timed(
      eventually(async () => {
        const { rowCount } = await admin.query('SELECT FROM idempotency_keys WHERE account_id = $1', [
          client.accountId,
        ]);
        return rowCount === 0;
      }),
    );
    reportMeasurement(`another process worked ${Math.round(ms)} ms after the reconciler froze`);
    expect(await held()).not.toBe(session);
  });
});

describe('a crash between storage and Postgres leaves no orphan', () => {
  let service: TestService;
  let client: ApiClient;

  beforeAll(async () => {
    service = await fleet.service('api,worker');
  });
  // The tests that follow have services of their own, and this one would do their work.
  afterAll(() => service.close());

  beforeEach(async () => {
    client = await service.account();
  });

  const keyOf = (name: string): string => `${client.accountId}/2026/11/${name}.wav`;

  async function store(key: string): Promise<void> {
    const file = await service.app.get(Spool).create();
    await file.write(Buffer.from('audio'));
    await service.app.get(ObjectStore).put(key, file);
    await file.discard();
  }

  async function reserve(key: string): Promise<void> {
    const { accountId } = client;
    await insertReservations(service.database, [{ objectKey: key, accountId, bytes: 5, durationMs: 0 }]);
    // Otherwise the tests below would pass without a reservation.
    expect((await uploadState(service, environment)).removals).toContain(key);
  }

  const setDue = (key: string) =>
    service.database.query('UPDATE object_removals SET remove_after = now() WHERE object_key = $1', [key]);
  const objects = async () => (await uploadState(service, environment)).objects;

  it('an object whose upload was never committed is removed when its reservation has expired, and not before', async () => {
    const [key, unwritten] = ['1', '2'].map((n) => keyOf(`01900000-0000-7000-8000-00000000000${n}`)) as [
      string,
      string,
    ];
    await reserve(key);
    await reserve(unwritten);
    await store(key);
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await client.finished(body.id);
    expect(await objects()).toContain(key);
    expect((await uploadState(service, environment)).removals).toContain(key);
    await setDue(key);
    await setDue(unwritten);
    await eventually(async () => !(await objects()).includes(key));
    await eventually(async () => (await uploadState(service, environment)).removals.length === 0);
  });

  it('the object of a deleted recording goes later, when the store was away at the moment', async () => {
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await client.finished(body.id);
    const key = (await objects()).find((name) => name.includes(body.id));
    const folder = join(environment.variables.STORAGE_DIR as string, 'objects');
    const away = join(tmpdir(), `away-${body.id}`);
    await rename(folder, away);
    await client.delete(`/v1/recordings/${body.id}`).expect(204);
    expect((await uploadState(service, environment)).removals).toEqual([key]);
    await rename(away, folder);
    // The clean-up has looked meanwhile, and waits longer after each time.
    await setDue(key as string);
    await eventually(async () => !(await objects()).includes(key as string));
  });

  it('without its storage the service answers uploads with 503 and keeps nothing of them; then it continues', async () => {
    const before = await uploadState(service, environment);
    const folder = join(environment.variables.STORAGE_DIR as string, 'objects');
    const away = join(tmpdir(), `away-${client.accountId}`);
    await rename(folder, away);
    const response = await client.upload(silenceWav(0.1));
    expect(response.status).toBe(503);
    expect(response.body.error).toMatchObject({ code: 5003, type: 'ServiceUnavailableError' });
    expect(response.headers['retry-after']).toBeDefined();
    const { body: ready } = await request(service.url).get('/health/ready').expect(503);
    expect(ready.checks.storage).not.toBe('ok');
    await client.get('/v1/recordings').expect(200);
    await rename(away, folder);
    await expectUploadState(service, environment, before);
    await client.upload(silenceWav(0.1)).expect(201);
  });
});

describe('deliveries', () => {
  it('whose jobs were lost with Redis are found', async () => {
    const desk = await fleet.service('api');
    const owner = await desk.account();
    const receiver = await fleet.receiver();
    await owner.post('/v1/webhooks', { url: receiver.url(), events: ['recording.failed'] }).expect(201);
    await failRecordings(desk, owner.accountId, 5);
    await fleet.redis().flushdb();
    await fleet.service('worker');
    await receiver.waitFor(({ length }) => length === 5);
  });

  it('of a process that died while it sent are sent again by another', async () => {
    const desk = await fleet.service('api');
    const owner = await desk.account();
    const receiver = await fleet.receiver();
    receiver.answerNext({ hang: 'headers' });
    await owner.post('/v1/webhooks', { url: receiver.url(), events: ['recording.failed'] }).expect(201);
    const victim = await fleet.process('worker');
    await failRecordings(desk, owner.accountId, 1);
    await receiver.waitFor(({ length }) => length === 1);
    await victim.end('SIGKILL');
    await desk.database.query(
      `UPDATE deliveries SET lease_until = now() WHERE account_id = $1 AND lease_token IS NOT NULL`,
      [owner.accountId],
    );
    await fleet.service('worker');
    const [first, second] = await receiver.waitFor(({ length }) => length === 2);
    expect(second?.headers['x-service-event-id']).toBe(first?.headers['x-service-event-id']);
    expect(second?.headers['x-service-delivery-attempt']).toBe('2');
  });
});
