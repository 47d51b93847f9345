import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { Response } from 'supertest';
import { selectDifferences } from '../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { compactUsageCounters } from '../../src/modules/recordings/usage-counters/usage-counters.queries.js';
import { garbage, pipedWav, silenceWav } from '../support/audio/audio-bytes.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { timedEngine } from '../support/service/test-engines.js';

/** Only lengths count here, not words. */
const engine = timedEngine({ msPerSecond: 0, concurrency: 4 });
const service = useService({ TRANSCRIPTION_ENGINE: 'timed' }, { extensions: [engine.extension] });

interface Usage {
  recordings_count: number;
  total_duration_seconds: number;
  storage_used_bytes: number;
}

async function usageOf(client: ApiClient): Promise<{ current_month: Usage; previous_month: Usage }> {
  const { body } = await client.get('/v1/account').expect(200);
  return body.usage;
}

async function totalOf(client: ApiClient, filters = ''): Promise<number> {
  const { body } = await client.get(`/v1/recordings?limit=1${filters}`).expect(200);
  return body.total;
}

/** Whatever the counts say that the rows do not, in one snapshot: there must never be anything. */
const disagreements = (): Promise<unknown[]> =>
  service.database.query(
    `WITH counted AS (
       SELECT account_id, day, status, sum(listed)::int AS listed, sum(bytes)::int AS bytes, sum(accepted)::int AS accepted
       FROM (SELECT account_id, day, status, listed, bytes, accepted FROM usage_counters
             UNION ALL
             SELECT account_id, day, status, listed, bytes, accepted FROM usage_counter_deltas) both_kinds
       GROUP BY account_id, day, status),
     there AS (
       SELECT account_id, (created_at AT TIME ZONE 'UTC')::date AS day, status, count(*)::int AS listed,
         sum(file_size_bytes)::int AS bytes
       FROM recordings GROUP BY 1, 2, 3),
     by_status AS (
       SELECT coalesce(c.account_id, t.account_id) AS account_id, coalesce(c.day, t.day) AS day,
         coalesce(c.status, t.status) AS status, coalesce(c.listed, 0) AS counted, coalesce(t.listed, 0) AS there,
         coalesce(c.bytes, 0) AS counted_bytes, coalesce(t.bytes, 0) AS bytes_there
       FROM counted c FULL JOIN there t USING (account_id, day, status)),
     by_day AS (
       SELECT account_id, day, NULL, sum(counted_bytes), sum(bytes_there) FROM by_status GROUP BY account_id, day
       HAVING sum(counted_bytes) <> sum(bytes_there))
     SELECT account_id, day, status, counted, there FROM by_status WHERE counted <> there
     UNION ALL SELECT * FROM by_day`,
  );

describe('D8, D17: usage and totals are exact while everything happens at once', () => {
  const ACTORS = 6;
  const STEPS = 9;

  /** Reproducible dice (mulberry32). */
  function dice(seed: number): (sides: number) => number {
    let state = seed;
    return (sides) => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) % sides;
    };
  }

  /** A request that gets no connection to Postgres in time is answered 503 before it changes anything. */
  const served = (ask: () => PromiseLike<Response>): Promise<Response> =>
    eventually(async () => {
      const answer = await ask();
      return answer.status !== 503 && answer;
    });

  it('uploads, deletes, failures, retries and folds, in any order, from many clients', async () => {
    const client = await service.account();
    const alive = new Set<string>();
    const history = { begun: 0, accepted: 0, durationMs: 0, deleted: 0, retried: 0 };
    let acting = true;

    async function upload(audio: Buffer): Promise<string> {
      const { body, status } = await served(() => {
        history.begun += 1;
        return client.upload(audio);
      });
      expect(status).toBe(201);
      history.accepted += 1;
      history.durationMs += Math.round(body.duration_seconds * 1000);
      alive.add(body.id);
      return body.id;
    }

    async function remove(id: string): Promise<void> {
      alive.delete(id);
      const answers = await Promise.all([0, 1].map(() => served(() => client.delete(`/v1/recordings/${id}`))));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404]);
      history.deleted += 1;
    }

    /** Of a recording that somebody else may delete or retry meanwhile. */
    async function retry(id: string): Promise<void> {
      const read = () => served(() => client.get(`/v1/recordings/${id}`));
      await eventually(async () => (await read()).body.status !== 'processing');
      const answers = await Promise.all([0, 1].map(() => served(() => client.post(`/v1/recordings/${id}/retry`))));
      const accepted = answers.filter(({ status }) => status === 202).length;
      expect(answers.every(({ status }) => [202, 404, 409].includes(status))).toBe(true);
      expect(accepted).toBeLessThanOrEqual(1);
      history.retried += accepted;
    }

    async function act(seed: number): Promise<void> {
      const roll = dice(seed);
      for (let step = 0; step < STEPS; step++) {
        const id = [...alive][roll(Math.max(1, alive.size))];
        const choice = roll(10);
        if (choice < 4 || id === undefined) await upload(silenceWav((1 + roll(50)) / 100));
        else if (choice < 7) await remove(id);
        else await retry(await upload(garbage('wav', roll(1000), 500 + roll(2000))));
      }
    }

    async function keepFolding(): Promise<void> {
      while (acting) {
        await compactUsageCounters(service.database);
        await yieldTurn();
      }
    }

    async function keepReading(): Promise<void> {
      for (let round = 0; acting; round++) {
        expect(await disagreements()).toEqual([]);
        expect(await selectDifferences(service.database, client.accountId)).toEqual([]);
        const status = ['', '&status=processing', '&status=failed', '&status=transcribed'][round % 4];
        const { body } = await served(() => client.get(`/v1/recordings?limit=100${status}`));
        expect(body.total).toBe(body.page_size);
        const atLeast = history.accepted;
        const { current_month: usage } = (await served(() => client.get('/v1/account'))).body.usage;
        expect(usage.recordings_count).toBeGreaterThanOrEqual(atLeast);
        expect(usage.recordings_count).toBeLessThanOrEqual(history.begun);
      }
    }

    const watching = [keepFolding(), keepFolding(), keepReading()];
    await Promise.all(Array.from({ length: ACTORS }, (_, i) => act(i + 1))).finally(() => (acting = false));
    await Promise.all(watching);
    await eventually(async () => (await totalOf(client, '&status=processing')) === 0);
    expect(history.deleted).toBeGreaterThan(5);
    expect(history.retried).toBeGreaterThan(5);

    expect(await disagreements()).toEqual([]);
    const [rows] = await service.database.query<{ count: number; bytes: number }>(
      `SELECT count(*)::int AS count, coalesce(sum(file_size_bytes), 0)::int AS bytes FROM recordings WHERE account_id = $1`,
      [client.accountId],
    );
    expect(rows?.count).toBe(alive.size);
    expect((await usageOf(client)).current_month).toEqual({
      recordings_count: history.accepted,
      total_duration_seconds: history.durationMs / 1000,
      storage_used_bytes: rows?.bytes,
    });
    expect(await totalOf(client)).toBe(alive.size);
  });

  it('the comparison above would see a single recording or byte too many', async () => {
    const client = await service.account();
    const book = (listed: number, bytes: number) =>
      service.database.query(
        `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
         VALUES ($1, '2026-01-01', 'failed', $2, 0, 0, $3)`,
        [client.accountId, listed, bytes],
      );
    await book(1, 0);
    expect(await disagreements()).toHaveLength(1);
    await book(-1, 1);
    expect(await disagreements()).toHaveLength(1);
    await book(0, -1);
    expect(await disagreements()).toEqual([]);
  });
});

describe('D8: durations', () => {
  it('follow the decoded length, up and down, with the terminal state; a delete takes none of them away', async () => {
    const client = await service.account();
    const ids: string[] = [];
    let probed = 0;
    for (const audio of ['ss-0880.mediarecorder.webm', 'go-forward-ten-meters.mp3', pipedWav()]) {
      const { body } = await client.upload(audio).expect(201);
      ids.push(body.id);
      probed += body.duration_seconds;
    }
    const finished = await Promise.all(ids.map((id) => client.finished(id)));
    const decoded = finished.reduce((sum, { duration_seconds: seconds }) => sum + (seconds as number), 0);
    expect(decoded).not.toBeCloseTo(probed, 3);
    expect((await usageOf(client)).current_month.total_duration_seconds).toBeCloseTo(decoded, 6);

    for (const id of ids) await client.delete(`/v1/recordings/${id}`).expect(204);
    const { current_month: usage } = await usageOf(client);
    expect(usage.total_duration_seconds).toBeCloseTo(decoded, 6);
    expect(usage).toMatchObject({ recordings_count: 3, storage_used_bytes: 0 });
  });

  it('a retry counts neither the recording nor its duration again', async () => {
    const client = await service.account();
    const { body } = await client.upload(garbage('wav', 7)).expect(201);
    await client.finished(body.id);
    const before = await usageOf(client);
    await client.post(`/v1/recordings/${body.id}/retry`).expect(202);
    expect(await totalOf(client, '&status=failed')).toBe(0);
    expect(await totalOf(client, '&status=processing')).toBeLessThanOrEqual(1);
    await client.finished(body.id);
    expect(await usageOf(client)).toEqual(before);
    expect(await totalOf(client, '&status=failed')).toBe(1);
  });

  it('an upload that is refused, or replayed by its Idempotency-Key, counts for nothing', async () => {
    const client = await service.account();
    await client.upload(Buffer.from('no audio')).expect(400);
    await client.upload(silenceWav(0.1)).set('Idempotency-Key', 'once').expect(201);
    const before = await usageOf(client);
    const again = () => client.upload(silenceWav(0.1)).set('Idempotency-Key', 'once');
    const replays = await Promise.all([again(), again(), again()]);
    expect(replays.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await usageOf(client)).toEqual(before);
    expect(before.current_month.recordings_count).toBe(1);
  });
});

describe('D8: calendar months in UTC; D18: days in UTC', () => {
  const now = new Date();
  const monthStart = (back: number): Date => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
  const lastMoment = (back: number): Date => new Date(monthStart(back - 1).getTime() - 1);
  const day = (instant: Date): string => instant.toISOString().slice(0, 10);

  /** As if the recording had been accepted at that instant: its row, and what is booked for it. */
  async function moveTo(id: string, instant: Date): Promise<void> {
    await service.database.transact(async (tx) => {
      await tx.query(
        `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
         SELECT account_id, unnest(ARRAY[(created_at AT TIME ZONE 'UTC')::date, ($2::timestamptz AT TIME ZONE 'UTC')::date]),
           status, unnest(ARRAY[-1, 1]), unnest(ARRAY[-1, 1]), duration_ms * unnest(ARRAY[-1, 1]),
           file_size_bytes * unnest(ARRAY[-1, 1])
         FROM recordings WHERE id = $1`,
        [id, instant],
      );
      await tx.query('UPDATE recordings SET created_at = $2 WHERE id = $1', [id, instant]);
    });
  }

  async function recordingOf(client: ApiClient, instant: Date, seconds = 0.1): Promise<string> {
    const { body } = await client.upload(silenceWav(seconds)).expect(201);
    await client.finished(body.id);
    await moveTo(body.id, instant);
    return body.id;
  }

  it('the last moment of a month belongs to it, the next one to the month after', async () => {
    const client = await service.account();
    await recordingOf(client, monthStart(0), 0.1);
    await recordingOf(client, lastMoment(1), 0.2);
    await recordingOf(client, monthStart(1), 0.2);
    await recordingOf(client, lastMoment(2), 0.5);
    expect(await disagreements()).toEqual([]);
    const usage = await usageOf(client);
    expect(usage.current_month).toMatchObject({ recordings_count: 1, total_duration_seconds: 0.1 });
    expect(usage.previous_month).toMatchObject({ recordings_count: 2, total_duration_seconds: 0.4 });
    expect(usage.previous_month.storage_used_bytes).toBe(2 * 44 + 0.4 * 32_000);
  });

  it('a delete frees the storage of the month of creation, whenever it happens', async () => {
    const client = await service.account();
    const id = await recordingOf(client, lastMoment(1));
    await recordingOf(client, monthStart(0));
    const before = await usageOf(client);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    const after = await usageOf(client);
    expect(after.current_month).toEqual(before.current_month);
    expect(after.previous_month).toEqual({ ...before.previous_month, storage_used_bytes: 0 });
    expect(await disagreements()).toEqual([]);
  });

  it('a total with dates or a status counts what the list shows (D17, D18)', async () => {
    const client = await service.account();
    const instants = [monthStart(0), lastMoment(1), monthStart(1), lastMoment(2), monthStart(2)];
    for (const instant of instants) await recordingOf(client, instant);
    await compactUsageCounters(service.database);
    const { body: failing } = await client.upload(garbage('wav', 3)).expect(201);
    await client.finished(failing.id);
    const filters = [
      '',
      '&status=transcribed',
      '&status=failed',
      `&date_from=${day(monthStart(1))}`,
      `&date_to=${day(lastMoment(1))}`,
      `&date_from=${day(monthStart(1))}&date_to=${day(monthStart(1))}`,
      `&date_from=${day(lastMoment(2))}&date_to=${day(lastMoment(1))}&status=transcribed`,
      `&date_from=${day(monthStart(2))}&date_to=${day(monthStart(2))}&status=failed`,
    ];
    const seen: number[] = [];
    for (const filter of filters) {
      const { body } = await client.get(`/v1/recordings?limit=100${filter}`).expect(200);
      expect(body.total).toBe(body.recordings.length);
      seen.push(body.total);
    }
    expect(seen).toEqual([6, 5, 1, 4, 4, 1, 3, 0]);
  });
});
