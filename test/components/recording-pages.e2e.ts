import fc from 'fast-check';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { pageStatement } from '../../src/modules/recordings/recording-page.queries.js';
import { lengthPageStatement, sortedPageStatement } from '../../src/modules/recordings/recordings-by-length.queries.js';
import { lengthOrder, type ListRecordingsQuery } from '../../src/modules/recordings/recordings.dto.js';
import { useService } from '../../src/testing/test-service.js';
import { timedEngine } from '../support/service/test-engines.js';

const DAYS = 12;
const ORDERS = {
  newest: 'created_at DESC, id DESC',
  oldest: 'created_at, id',
  longest: 'duration_ms DESC, created_at DESC, id DESC',
  shortest: 'duration_ms, created_at, id',
};
const STATUSES = ['processing', 'transcribed', 'failed'] as const;
/** Changes that two writers make while pages are compared. */
const MIN_CHANGES = 50;

/** Rows and their deltas as the service writes them, in one statement; what it does around them is tested elsewhere. */
const CHANGES = {
  insert: `
    WITH row AS (
      INSERT INTO recordings (id, account_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
        audio_format, upload_source, status, created_at, updated_at)
      VALUES ($2::uuid, $1, 'a.wav', $2::uuid::text, 'b', $4, 1, 'wav', 'api', 'processing', $3, $3) RETURNING *)
    INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
    SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, 1, 1, duration_ms, 1 FROM row`,
  finish: `
    WITH row AS (
      UPDATE recordings SET status = $2::text, processed_at = now(), lease_token = NULL, lease_until = NULL, features = CASE WHEN $2::text = 'transcribed' THEN '{}'::jsonb END,
        failure_reason = CASE WHEN $2::text = 'failed' THEN 'x' END
      WHERE id = (SELECT id FROM recordings WHERE account_id = $1 AND status = 'processing' LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING *)
    INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
    SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, s.status, s.listed, 0, 0, 0
    FROM row, (VALUES ('processing', -1), ($2::text, 1)) AS s (status, listed)`,
  delete: `
    WITH row AS (
      DELETE FROM recordings WHERE id = (SELECT id FROM recordings WHERE account_id = $1 ORDER BY random() LIMIT 1
        FOR UPDATE SKIP LOCKED) RETURNING *)
    INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
    SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, -1, 0, 0, 0 FROM row`,
};

type Compared = ListRecordingsQuery & { order?: keyof typeof ORDERS };

describe('pages of recordings, found by the counts of their days', () => {
  // Its reconciler compacts the counters meanwhile, and its worker takes up rows that look forgotten.
  const engine = timedEngine({ msPerSecond: 0, concurrency: 1 });
  const service = useService({ TRANSCRIPTION_ENGINE: 'timed' }, { extensions: [engine.extension] });
  const { environment } = service;
  let accountId: string;
  const clients: Client[] = [];

  beforeAll(async () => {
    ({ accountId } = await service.account());
    for (let i = 0; i < 300; i++) await change(await connect(clients[0]), 'insert');
  });

  async function connect(known?: Client): Promise<Client> {
    if (known) return known;
    const client = new Client({ connectionString: environment.variables.DATABASE_URL as string });
    await client.connect();
    clients.push(client);
    return client;
  }

  const dayBack = (back: number): string => new Date(Date.now() - back * 86_400_000).toISOString();

  async function change(client: Client, kind: keyof typeof CHANGES): Promise<void> {
    // Several in one millisecond, and some at midnight: the order among equals, and the edges of days.
    const at = Math.random() < 0.1 ? `${dayBack(rand(DAYS)).slice(0, 10)}T00:00:00Z` : dayBack(rand(DAYS * 4) / 4);
    const parameters = {
      // Many are as long as others, and of some the length is not known.
      insert: [accountId, uuidv7(), at, rand(8) * 1000],
      finish: [accountId, Math.random() < 0.8 ? 'transcribed' : 'failed'],
      delete: [accountId],
    };
    await client.query(CHANGES[kind], parameters[kind]);
  }

  const rand = (below: number): number => Math.floor(Math.random() * below);

  /** The same page and total by counting and skipping, in the same snapshot. */
  async function compare(client: Client, query: Compared): Promise<void> {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const order = lengthOrder(query);
    const statements =
      order === null
        ? [pageStatement(accountId, query)]
        : [sortedPageStatement(accountId, query, order), lengthPageStatement(accountId, query, order, 100_000)];
    const answers: { total: number; id: string | null }[][] = [];
    for (const { sql, parameters } of statements) answers.push((await client.query(sql, parameters)).rows);
    const conditions = `account_id = $1 AND ($2::text IS NULL OR status = $2)
      AND ($3::date IS NULL OR (created_at AT TIME ZONE 'UTC')::date >= $3)
      AND ($4::date IS NULL OR (created_at AT TIME ZONE 'UTC')::date <= $4)`;
    const filters = [accountId, query.status ?? null, query.date_from ?? null, query.date_to ?? null];
    const counted = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM recordings WHERE ${conditions}`,
      filters,
    );
    const skipped = await client.query<{ id: string }>(
      `SELECT id FROM recordings WHERE ${conditions} ORDER BY ${ORDERS[query.order ?? 'newest']} LIMIT $5 OFFSET $6`,
      [...filters, query.limit, query.page * query.limit],
    );
    await client.query('COMMIT');
    for (const rows of answers) {
      expect(rows[0]?.total).toBe(counted.rows[0]?.n);
      expect(rows.map(({ id }) => id).filter(Boolean)).toEqual(skipped.rows.map(({ id }) => id));
    }
  }

  const day = fc.integer({ min: -1, max: DAYS + 1 }).map((back) => dayBack(back).slice(0, 10));
  const anyQuery = fc.record(
    {
      page: fc.oneof(fc.nat(5), fc.nat(400)),
      limit: fc.integer({ min: 1, max: 100 }),
      status: fc.constantFrom(...STATUSES),
      date_from: day,
      date_to: day,
      order: fc.constantFrom('newest' as const, 'oldest' as const, 'longest' as const, 'shortest' as const),
    },
    { requiredKeys: ['page', 'limit'] },
  );

  it('are those that counting and skipping give, whatever is written and folded meanwhile', async () => {
    let writing = true;
    let changes = 0;
    const write = async (): Promise<void> => {
      const client = await connect();
      while (writing) {
        const chance = Math.random();
        await change(client, chance < 0.5 ? 'insert' : chance < 0.8 ? 'finish' : 'delete');
        changes += 1;
      }
    };
    const writers = [write(), write()];
    try {
      const reader = await connect();
      await fc.assert(
        fc.asyncProperty(anyQuery, async (query) => {
          await compare(reader, query);
        }),
        { numRuns: 200 },
      );
    } finally {
      writing = false;
      await Promise.all(writers);
      // Before the hooks that drop the database.
      for (const client of clients) await client.end();
    }
    expect(changes).toBeGreaterThan(MIN_CHANGES);
  });
});
