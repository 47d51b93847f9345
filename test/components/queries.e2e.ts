import { v7 as uuidv7 } from 'uuid';
import { selectKeyAccess, selectLiveKeys } from '../../src/access/accounts.queries.js';
import {
  addRequestErrors,
  type RequestError,
  selectRequestErrors,
} from '../../src/modules/account/request-errors.service.js';
import { addKeyUses } from '../../src/modules/api-keys/api-key-credentials.service.js';
import { ApiKeysService } from '../../src/modules/api-keys/api-keys.service.js';
import { selectDueLogs, selectUnsealedAccounts } from '../../src/modules/audit/audit-log.queries.js';
import { AuditLogService, type Extent, extentOf, newestOf } from '../../src/modules/audit/audit-log.service.js';
import { readQuotaUsage } from '../../src/modules/recordings/quotas.service.js';
import { deleteRecordingsOfUser } from '../../src/modules/recordings/recording-erasure.service.js';
import { pageStatement, selectPageByIndex } from '../../src/modules/recordings/recording-page.queries.js';
import {
  lengthPageStatement,
  selectPageByLength,
  sortedPageStatement,
} from '../../src/modules/recordings/recordings-by-length.queries.js';
import { ListRecordingsQuery } from '../../src/modules/recordings/recordings.dto.js';
import { lockDue, selectUpcoming } from '../../src/modules/recordings/retention/retention.queries.js';
import { findRecordings, reopenFailed, requestRerun } from '../../src/modules/recordings/recordings.queries.js';
import {
  claimIdempotencyKey,
  findIdempotencyKey,
  forgetIdempotencyKey,
} from '../../src/modules/recordings/upload/idempotency.queries.js';
import { claimAssembly, selectLeftAudio } from '../../src/modules/live/live-assemblies.queries.js';
import { appendPart, countLive, readParts } from '../../src/modules/live/live-recordings.queries.js';
import { claimLiveWords } from '../../src/modules/live/words/live-words.queries.js';
import { compactUsageCounters } from '../../src/modules/recordings/usage-counters/usage-counters.queries.js';
import type { SqlRunner, Tx } from '../../src/platform/database/database.service.js';
import { NO_SPEAKERS } from '../../src/platform/speakers.js';
import { SecretsService } from '../../src/platform/secrets.service.js';
import {
  beginDueRemovals,
  beginRemoval,
  claimReservedObject,
  ObjectRemovalsService,
} from '../../src/platform/storage/object-removals.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { checkRows } from '../support/check-rows.js';
import { locksInOrder } from '../support/state/held-rows.js';
import { costOf } from '../support/state/statement-cost.js';
import { insertRecordings, type SqlColumns } from '../support/state/inserted-rows.js';

const PREVIOUS = 'another secret key of at least 32 characters';
const EXPIRED = `expires_at = now() - interval '1 second'`;

/** What statements do that no request shows: limits, locks, and what several processes write at the same time. */
const service = useService({ ROLES: 'api', SECRET_KEY_PREVIOUS: PREVIOUS });
let client: ApiClient;
let accountId: string;

beforeEach(async () => {
  client = await service.account();
  ({ accountId } = client);
});

const query = <Row>(sql: string, parameters: unknown[] = []) => service.database.query<Row>(sql, parameters);
const transact = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => service.database.transact(work);

describe('API keys', () => {
  const create = async (owner = client): Promise<string> =>
    (await service.key(owner, ['recordings:read'])).credentials.id;
  const set = (id: string, change: string) => query(`UPDATE api_keys SET ${change} WHERE id = $1`, [id]);

  it('keep a stream open and stand behind a link while they are valid and their account is active', async () => {
    const [live, later, revoked, expired] = [await create(), await create(), await create(), await create()];
    const weak = (await service.key(client, ['recordings:write'])).credentials.id;
    await set(later, `expires_at = now() + interval '1 hour'`);
    await set(revoked, 'revoked_at = now()');
    await set(expired, EXPIRED);
    const asked = [live, later, revoked, expired, weak, uuidv7()];
    const open = async () => (await selectLiveKeys(service.database, asked, 'recordings:read')).toSorted();
    const behindLink = async (id: string, owner = accountId) => await selectKeyAccess(service.database, owner, id);
    expect(await open()).toEqual([live, later].toSorted());
    await checkRows(
      asked.map((id, i) => [id, [true, true, false, false, true, false][i]] as const),
      async (id, keyIsValid) => expect(await behindLink(id)).toEqual({ suspended: false, keyIsValid }),
    );
    expect(await behindLink(live, (await service.account()).accountId)).toMatchObject({ keyIsValid: false });
    expect(await behindLink(live, uuidv7())).toBeNull();
    await query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [accountId]);
    expect(await open()).toEqual([]);
    expect(await behindLink(live)).toEqual({ suspended: true, keyIsValid: true });
  });

  it('were last used at the latest time that any process tells, and by all of them together', async () => {
    const [a, b, unused] = [await create(), await create(), await create()];
    const [early, late] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:00:05Z')];
    const add = (...uses: [id: string, count: number, lastUsedAt: Date][]) =>
      addKeyUses(service.database, new Map(uses.map(([id, count, lastUsedAt]) => [id, { count, lastUsedAt }])));
    await add([a, 2, late]);
    await add([a, 3, early]);
    await add([b, 1, early], [a, 4, early]);
    const rows = await query(
      'SELECT usage_count::int AS uses, last_used_at AS used FROM api_keys WHERE id = ANY ($1) ORDER BY uses DESC',
      [[a, b, unused]],
    );
    expect(rows).toEqual([
      { uses: 9, used: late },
      { uses: 1, used: early },
      { uses: 0, used: null },
    ]);
  });

  it('whose hash is under another key are told, those that may still be used, in the order of their making', async () => {
    await query('DELETE FROM api_keys');
    const previous = new SecretsService({ secretKey: PREVIOUS, secretKeyPrevious: null });
    const old = `secret_hash = '${previous.hash('x')}'`;
    await create();
    const [b, a, lost] = [await create(), await create(), await create()];
    const elsewhere = await create(await service.account());
    for (const id of [b, a]) await set(id, `${old}, created_at = '2026-01-02'`);
    await set(elsewhere, `${old}, created_at = '2026-01-01'`);
    await set(lost, `secret_hash = 'unknown.x'`);
    await set(await create(), `${old}, revoked_at = now()`);
    await set(await create(), `${old}, ${EXPIRED}`);
    // Made at one moment, and the later id is not stored last.
    await set(b, `name = 'changed'`);
    const { waiting, unreadable } = await service.app.get(ApiKeysService).underOtherKeys();
    // The accounts' own keys went with the others.
    expect(waiting.map(({ id }) => id)).toEqual([elsewhere, ...[a, b].toSorted()]);
    expect(unreadable.map(({ id }) => id)).toEqual([lost]);
  });

  it('are locked in the order of their ids by uses and by a revocation, so that the two cannot deadlock', async () => {
    const [low, high] = [await create(), await create()].toSorted() as [string, string];
    const use = { count: 1, lastUsedAt: new Date() };
    const uses = new Map([high, low].map((id) => [id, use]));
    await set(low, `created_by = '${high}'`);
    const revoke = () => service.app.get(ApiKeysService).revoke(accountId, high, { descendants: true });
    for (const change of [() => addKeyUses(service.database, uses), revoke]) {
      expect(await locksInOrder(service.database, 'api_keys', [low, high], change)).toBe(true);
    }
  });
});

describe('live recordings', () => {
  it('are found with few pages, however many are there and however long they are', async () => {
    const [long, ...others] = await insertRecordings(service, client, { lease_until: `'infinity'` }, 3000);
    await query(
      `INSERT INTO live_recordings (recording_id, account_id, audio_format, sample_rate, reserved_key, reserved_bytes,
         reserved_ms, stored_bytes, ended_at, end_reason, due_at)
       SELECT id, $2, 'pcm16', 16000, id::text, 1e9, 1e9, CASE WHEN i = 1 THEN 60000 ELSE 0 END,
         CASE WHEN i % 2 = 0 THEN now() END, CASE WHEN i % 2 = 0 THEN 'finished' END, CASE WHEN i % 2 = 0 THEN now() END
       FROM unnest($1::uuid[]) WITH ORDINALITY AS r (id, i)`,
      [[long, ...others], accountId],
    );
    await query(`INSERT INTO live_audio SELECT $1, 3 * i, 'abc'::bytea FROM generate_series(0, 19999) i`, [long]);
    await query('ANALYZE live_recordings, live_audio');
    const id = long as string;
    const lease = { leaseToken: uuidv7(), leaseSeconds: 10, exceptAccounts: [] };
    type Row = [name: string, statement: (runner: SqlRunner) => Promise<unknown>, most: number];
    const rows: Row[] = [
      ['append', (runner) => appendPart(runner, id, 60_000, Buffer.from('abc')), 30],
      ['read', (runner) => readParts(runner, id, 30_000, 3000), 100],
      ['count', (runner) => countLive(runner as Tx, accountId), 200],
      ['next assembly', (runner) => claimAssembly(runner, lease), 100],
      // The rows, of which there are as many as speakers.
      ['left audio', (runner) => selectLeftAudio(runner, 10), 300],
      // With the account of each.
      ['next words', (runner) => claimLiveWords(runner, uuidv7(), 10), 10_000],
    ];
    await checkRows(rows, async (_, statement, most) => {
      const { pages } = await costOf(service.database, statement);
      expect(pages).toBeLessThan(most);
    });
  });
});

describe('the audit log', () => {
  it('is read, followed, sealed and trimmed with few pages, however long it is', async () => {
    const other = await service.account();
    const [target, rare, key, person] = [uuidv7(), 'recording.held', uuidv7(), uuidv7()];
    await query(
      `INSERT INTO audit_entries
         (id, account_id, number, previous_hash, hash, at, action, outcome, actor_kind, key_id, person_id, target_id, targets)
       SELECT gen_random_uuid(), a.id, 1000 + i, 'x', 'x', now() - make_interval(mins => 20001 - i),
         CASE WHEN i % 1000 = 0 THEN $3 ELSE 'recording.updated' END, 'success',
         CASE WHEN i % 1000 = 0 THEN 'person' ELSE 'api_key' END,
         CASE WHEN i % 1000 = 1 THEN $5 WHEN i % 1000 > 0 THEN 'another' END,
         CASE WHEN i % 1000 = 0 THEN $6 END,
         CASE WHEN i % 1000 = 0 THEN $4 ELSE md5(i::text) END, '[]'
       FROM generate_series(1, 20000) i, unnest($1::uuid[]) AS a (id) WHERE a.id <> $2 OR i % 10 = 0`,
      [[accountId, other.accountId], other.accountId, rare, target, key, person],
    );
    await query(
      `INSERT INTO audit_logs (account_id, last_number, removed_number, retain_days)
       SELECT id, 21000, 1000, 30 FROM unnest($1::uuid[]) AS a (id)
       ON CONFLICT (account_id) DO UPDATE SET last_number = 21000, removed_number = 1000, retain_days = 30`,
      [[accountId, other.accountId]],
    );
    await query('ANALYZE audit_entries, audit_logs');
    const log = service.app.get(AuditLogService);
    const statement = (found: { getQueryAndParameters: () => [string, unknown[]] }) => (runner: SqlRunner) =>
      runner.query(...found.getQueryAndParameters());
    /** Both statements of a list. */
    const listed = async (filters: object): Promise<((runner: SqlRunner) => Promise<unknown>)[]> => {
      const extent = extentOf(log.find(accountId, filters));
      const found = (await extent.getRawOne<Extent>()) as Extent;
      return [statement(extent), statement(newestOf(log.find(accountId, filters), found).limit(50))];
    };
    const tenDaysAgo = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10);
    type Row = [name: string, statements: ((runner: SqlRunner) => Promise<unknown>)[]];
    const rows: Row[] = [
      ['page', [statement(newestOf(log.find(accountId, {}), { first: 1001, last: 15_000 }).limit(50))]],
      ['page of a kind of actor', await listed({ actor: 'person' })],
      ['page of a key', await listed({ actor: key })],
      ['page of a person', await listed({ actor: person })],
      ['page of a day', await listed({ date_from: tenDaysAgo, date_to: tenDaysAgo })],
      ['page of an actor until a day', await listed({ date_to: tenDaysAgo, actor: 'person' })],
      ['page of an action', await listed({ action: rare })],
      ['page of a target', await listed({ target })],
      ['lines', [statement(log.find(accountId, {}).orderBy('e.number', 'ASC').limit(50))]],
      ['accounts with a log to seal', [(runner) => selectUnsealedAccounts(runner, 100)]],
      ['logs with entries to remove', [(runner) => selectDueLogs(runner, 100)]],
    ];
    await checkRows(rows, async (_, statements) => {
      for (const work of statements) {
        const { pages, scanned } = await costOf(service.database, work);
        expect(pages).toBeLessThan(200);
        expect(scanned).not.toContain('audit_entries');
      }
    });
  });
});

describe('recordings', () => {
  const insert = async (columns: SqlColumns = {}, owner = client): Promise<string> => {
    const noon = `'2026-01-02T12:00:00Z'::timestamptz`;
    const [id = ''] = await insertRecordings(service, owner, { user_id: `'ada'`, created_at: noon, ...columns });
    return id;
  };

  it('of an end user are hers in this account alone, by day and status, the newest first, then by their ids', async () => {
    const at = (time: string) => ({ created_at: `'2026-01-${time}Z'::timestamptz` });
    const before = await insert(at('01T23:59:59.999'));
    const midnight = await insert(at('02T00:00:00'));
    const noon = [await insert(), await insert(), await insert()].toSorted().toReversed();
    const last = await insert({ ...at('02T23:59:59.999'), status: `'transcribed'` });
    const next = await insert(at('03T00:00:00'));
    await insert({ user_id: `'eve'` });
    await insert({}, await service.account());
    const all = [next, last, ...noon, midnight, before];
    const day = { date_from: '2026-01-02', date_to: '2026-01-02' };
    await checkRows<[asked: Partial<ListRecordingsQuery>, ids: string[], total: number]>(
      [
        [{}, all, 7],
        [{ limit: 4 }, all.slice(0, 4), 7],
        [{ limit: 4, page: 1 }, all.slice(4), 7],
        [{ limit: 4, page: 2 }, [], 7],
        [{ date_from: '2026-01-02' }, all.slice(0, 6), 6],
        [{ date_to: '2026-01-02' }, all.slice(1), 6],
        [day, all.slice(1, 6), 5],
        [{ ...day, status: 'transcribed' }, [last], 1],
        [{ created_from: '2026-01-02T01:00:00+01:00', created_before: '2026-01-03T00:00:00Z' }, all.slice(1, 6), 5],
        [{ created_from: '2026-01-01T23:59:59.999Z', created_before: '2026-01-02T00:00:00Z' }, [before], 1],
        [{ ...day, created_from: '2026-01-02T23:00:00Z' }, [last], 1],
      ],
      async (asked, ids, total) => {
        const page = Object.assign(new ListRecordingsQuery(), { user_id: 'ada' }, asked);
        const found = await selectPageByIndex(service.database, accountId, page);
        expect({ ids: found.items.map(({ id }) => id), total: found.total }).toEqual({ ids, total });
      },
    );
  });

  it('in any order and with any filter are listed with few pages, or refused, however many are there', async () => {
    const many = {
      status: `'transcribed'`,
      duration_ms: '1000 * (i % 600)',
      created_at: `now() - i * interval '1 min'`,
    };
    // Enough that Postgres does not read all of them for those of one user.
    await insertRecordings(service, client, many, 90_000);
    await insertRecordings(service, client, { status: `'failed'`, duration_ms: '0' }, 10);
    await insertRecordings(service, client, { ...many, user_id: `'ada'`, duration_ms: '5 * i' }, 100);
    await insertRecordings(service, client, { ...many, user_id: `'eve'` }, 10_001);
    await query('VACUUM ANALYZE recordings');
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    const longest = 'longest' as const;
    const shortest = 'shortest' as const;
    type Row = [asked: Partial<ListRecordingsQuery>, statement: typeof pageStatement, index: string, most: number];
    const byLengthAlone = (id: string, asked: ListRecordingsQuery) =>
      lengthPageStatement(id, asked, asked.order as typeof longest, 1000);
    const sorted = (id: string, asked: ListRecordingsQuery) =>
      sortedPageStatement(id, asked, asked.order as typeof longest);
    const [inLength, byTime] = ['recordings_account_length_idx', 'recordings_account_idx'];
    await checkRows<Row>(
      [
        [{ order: 'oldest' }, pageStatement, byTime, 300],
        [{ order: 'oldest', status: 'failed' }, pageStatement, 'recordings_account_status_idx', 300],
        [{ order: longest }, byLengthAlone, inLength, 300],
        [{ order: longest, page: 19 }, byLengthAlone, inLength, 1500],
        [{ order: shortest, status: 'failed' }, byLengthAlone, inLength, 300],
        [{ order: longest, status: 'processing' }, byLengthAlone, inLength, 300],
        [{ order: longest, date_from: yesterday.slice(0, 10) }, byLengthAlone, inLength, 1500],
        [{ order: longest, user_id: 'ada' }, sorted, 'recordings_account_user_idx', 1500],
        [{ order: shortest, created_before: '2020-01-01T00:00:00Z' }, sorted, byTime, 300],
        // Too many: they are counted, and their lengths are not looked up.
        [{ order: longest, user_id: 'eve' }, sorted, 'recordings_account_user_idx', 3000],
      ],
      async (asked, statement, index, most) => {
        const page = Object.assign(new ListRecordingsQuery(), asked);
        const { sql, parameters } = statement(accountId, page);
        const cost = await costOf(service.database, (runner) => runner.query(sql, parameters));
        expect(cost.scanned).not.toContain('recordings');
        expect(cost.indexes).toContain(index);
        expect(cost.pages).toBeLessThan(most);
      },
    );
    // More than 10,000 of the last days, which are found among the longest as long as few of those are older.
    const days = Object.assign(new ListRecordingsQuery(), {
      created_from: new Date(Date.now() - 10 * 86_400_000).toISOString(),
    });
    const few = await selectPageByLength(service.database, accountId, days, longest, 1000);
    expect(few.items).toHaveLength(50);
    expect(few).toMatchObject({ hasMore: true });
    await expect(selectPageByLength(service.database, accountId, days, longest, 20)).rejects.toThrow(/order/);
  });

  it('of which something is due are found in an index, however many are there', async () => {
    const finished = { status: `'transcribed'` };
    await insertRecordings(service, client, finished, 20_000);
    const inDays = (days: number) => ({
      ...finished,
      audio_due_at: `now() + interval '${days} days' + i * interval '1 s'`,
    });
    await insertRecordings(service, client, { ...inDays(-1), held_at: 'now()' }, 5000);
    await insertRecordings(service, client, { ...inDays(-1), status: `'processing'` }, 5000);
    await insertRecordings(service, client, inDays(1), 5000);
    const due = await insertRecordings(service, client, inDays(-1), 10);
    await query('ANALYZE recordings');

    const sweep = await costOf(service.database, (runner) => lockDue(runner as Tx, 100));
    expect(sweep).toMatchObject({ indexes: ['recordings_due_idx'], scanned: [] });
    expect(sweep.pages).toBeLessThan(100);
    const first = { dueMicros: '0', id: '00000000-0000-0000-0000-000000000000' };
    const list = await costOf(service.database, (runner) => selectUpcoming(runner, accountId, first, 51));
    expect(list).toMatchObject({ indexes: ['recordings_account_due_idx'], scanned: [] });
    expect(list.pages).toBeLessThan(100);
    await transact(async (tx) => {
      const locked = await lockDue(tx, 100);
      expect(locked.map(({ id }) => id).toSorted()).toEqual(due.toSorted());
    });
  });

  it('of an end user are locked in the order in which they are erased, so that two erasures cannot deadlock', async () => {
    const newer = await insert();
    const older = await insert({ created_at: `'2026-01-01T00:00:00Z'::timestamptz` });
    const user = { accountId, userId: 'ada', until: 'now' };
    const erase = () => transact((tx) => deleteRecordingsOfUser(tx, user, 10, false));
    expect(await locksInOrder(service.database, 'recordings', [newer, older], erase)).toBe(true);
  });

  it('begin a new run without the attempts, the faults and the lease of the one before', async () => {
    const before = { attempt: '4', faults: '3', lease_until: 'now()', requested_engine: `'old'` };
    const requested = { ...before, language: `'german'`, vocabulary: `'{Zoë}'::text[]`, speakers: '3' };
    const [failed, transcribed, wishing] = [
      await insert({ ...requested, status: `'failed'` }),
      await insert({ ...requested, status: `'transcribed'` }),
      await insert({ ...requested, status: `'failed'` }),
    ];
    await transact(async (tx) => {
      const fresh = { attempt: 0, faults: 0, leaseUntil: null, requestedEngine: null, language: 'german' };
      const reopened = await reopenFailed(tx, { accountId, id: failed }, {});
      const kept = { ...fresh, vocabulary: ['Zoë'], speakers: 3 };
      expect(reopened).toMatchObject({ ...kept, status: 'processing', run: 2 });
      expect(reopened).toMatchObject({ processedAt: null, features: null, failureReason: null });
      const again = await requestRerun(tx, { accountId, id: transcribed }, {});
      expect(again).toMatchObject({ ...kept, status: 'transcribed', run: 1, rerun: 'requested' });
      const options = { engine: 'openai', language: 'english', vocabulary: [], speakers: NO_SPEAKERS };
      const asked = await reopenFailed(tx, { accountId, id: wishing }, options);
      const wished = { requestedEngine: 'openai', language: 'english', vocabulary: null, speakers: null };
      expect(asked).toMatchObject(wished);
    });
  });

  it('are taken out of the background by a request, and not out of the hands of a worker', async () => {
    const waiting = { status: `'transcribed'`, rerun: `'quiet'`, rerun_at: 'now()' };
    const quiet = await insert(waiting);
    const leased = await insert({ ...waiting, lease_token: 'gen_random_uuid()', lease_until: 'now()' });
    await transact(async (tx) => {
      expect(await requestRerun(tx, { accountId, id: quiet }, {})).toMatchObject({ rerun: 'requested' });
      expect(await requestRerun(tx, { accountId, id: leased }, {})).toBeNull();
    });
  });
});

describe('Idempotency-Keys (D20)', () => {
  it('are forgotten only while they name the recording that is gone', async () => {
    const key = { accountId, identity: 'ada', key: 'k' };
    const [first, second] = [uuidv7(), uuidv7()];
    await transact((tx) => claimIdempotencyKey(tx, { ...key, fingerprint: 'f', recordingId: first }, 60));
    const find = () => findIdempotencyKey(service.database, key, 60);
    await forgetIdempotencyKey(service.database, { ...key, recordingId: second });
    expect(await find()).toEqual({ fingerprint: 'f', recordingId: first });
    await forgetIdempotencyKey(service.database, { ...key, recordingId: first });
    expect(await find()).toBeNull();
  });
});

describe('refused requests that several processes write', () => {
  it('have the first and the last time of all, and the last message and ids, in whatever order they come', async () => {
    const group = (second: number): RequestError => ({
      accountId,
      day: new Date().toISOString().slice(0, 10),
      operation: 'GET /v1/a',
      status: 400,
      code: '2001',
      field: '',
      type: 'ValidationError',
      count: 2,
      firstAt: new Date(Date.UTC(2026, 0, 1, 0, 0, second)),
      lastAt: new Date(Date.UTC(2026, 0, 1, 0, 0, second + 1)),
      message: `m${second}`,
      requestIds: [`${second}b`, `${second}a`],
    });
    // Told whether their account has a new kind.
    for (const [second, isNew] of [
      [20, true],
      [10, false],
      [30, false],
    ] as const) {
      expect(await addRequestErrors(service.database, [group(second)])).toEqual(isNew ? [accountId] : []);
    }
    expect(await selectRequestErrors(service.database, accountId, { days: 1, limit: 10 })).toEqual([
      expect.objectContaining({
        count: 6,
        firstAt: group(10).firstAt,
        lastAt: group(30).lastAt,
        message: 'm30',
        requestIds: ['30b', '30a', '20b', '20a', '10b'],
      }),
    ]);
  });
});

describe('the usage counters', () => {
  it('are compacted until nothing is left, however much there is', async () => {
    await query(
      `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
       SELECT $1, '2026-01-01', 'processing', 1, 1, 2, 3 FROM generate_series(1, 45000)`,
      [accountId],
    );
    await compactUsageCounters(service.database);
    const [row] = await query(
      `SELECT (SELECT count(*)::int FROM usage_counter_deltas WHERE account_id = $1) AS left,
         (SELECT accepted::int FROM usage_counters WHERE account_id = $1) AS accepted`,
      [accountId],
    );
    expect(row).toEqual({ left: 0, accepted: 45_000 });
  });
});

describe('statements that look up many keys', () => {
  /** Postgres makes a new plan for the first five calls of a statement, and then keeps one if it seems no dearer. */
  const NEW_PLANS = 5;
  const CALLS = 12;

  it('keep their plan also when there is one key', () =>
    checkRows<[what: string, read: (tx: Tx) => Promise<unknown>]>(
      [
        ['recordings', (tx) => findRecordings(tx, [{ accountId, id: accountId }])],
        ['the usage of accounts', (tx) => readQuotaUsage(tx, [accountId], '2026-11-01')],
      ],
      async (_, read) => {
        const plans = await transact(async (tx) => {
          for (let i = 0; i < CALLS; i++) await read(tx);
          return await tx.query(
            `SELECT custom_plans::int AS made, generic_plans::int AS kept FROM pg_prepared_statements
             ORDER BY prepare_time DESC LIMIT 1`,
          );
        });
        expect(plans).toEqual([{ made: NEW_PLANS, kept: CALLS - NEW_PLANS }]);
      },
    ));
});

describe('the list of objects to remove', () => {
  beforeEach(() => query('DELETE FROM object_removals'));

  const add = (key: string, seconds: number) =>
    query('INSERT INTO object_removals (object_key, remove_after) VALUES ($1, now() + make_interval(secs => $2))', [
      key,
      seconds,
    ]);
  const setDue = () => query(`UPDATE object_removals SET remove_after = now() - interval '1 second'`);
  const claim = async (key: string) => (await query(claimReservedObject('$1'), [key])).length > 0;

  async function row(key: string) {
    const [found] = await query<{ attempts: number; seconds: number }>(
      `SELECT attempts, extract(epoch FROM remove_after - now())::float8 AS seconds FROM object_removals
       WHERE object_key = $1`,
      [key],
    );
    return found;
  }

  it('gives what is due, the longest first, and nothing before its time', async () => {
    await Promise.all([add('later', 60), add('second', -1), add('first', -2), add('third', 0)]);
    const due = async (limit: number) =>
      (await beginDueRemovals(service.database, limit)).map(({ objectKey }) => objectKey).toSorted();
    expect(await due(2)).toEqual(['first', 'second']);
    expect(await due(10)).toEqual(['third']);
    expect(await beginRemoval(service.database, 'later')).toBe(false);
    expect(await row('later')).toMatchObject({ attempts: 0 });
  });

  it('gives an object to one of several processes', async () => {
    await add('one', -1);
    const begun = await Promise.all(Array.from({ length: 8 }, () => beginRemoval(service.database, 'one')));
    expect(begun.filter(Boolean)).toHaveLength(1);
    await setDue();
    const lists = await Promise.all(Array.from({ length: 8 }, () => beginDueRemovals(service.database, 10)));
    expect(lists.flat()).toEqual([{ objectKey: 'one', isAbandoned: false }]);
  });

  it('knows what an upload has abandoned, at the first attempt to remove it', async () => {
    await Promise.all([add('deleted', -1), add('left', -1)]);
    await query(`UPDATE object_removals SET account_id = $1, bytes = 1, duration_ms = 1 WHERE object_key = 'left'`, [
      accountId,
    ]);
    const abandoned = async () =>
      (await beginDueRemovals(service.database, 10)).flatMap((due) => (due.isAbandoned ? due.objectKey : []));
    expect(await abandoned()).toEqual(['left']);
    await setDue();
    expect(await abandoned()).toEqual([]);
  });

  it('gives an upload its reserved object until the removal has begun, and not any more then', async () => {
    await Promise.all([add('kept', 3600), add('expired', -1)]);
    expect(await claim('kept')).toBe(true);
    expect(await row('kept')).toBeUndefined();
    expect(await beginRemoval(service.database, 'expired')).toBe(true);
    expect(await claim('expired')).toBe(false);
    expect(await row('expired')).toMatchObject({ attempts: 1 });
  });

  it('keeps an object that may arrive late until its reservation expires, and no other', async () => {
    const removals = service.app.get(ObjectRemovalsService);
    const key = `${uuidv7()}/2026/11/${uuidv7()}.wav`;
    await add(key, 3600);
    await removals.cancel(key, { mayArriveLate: true });
    expect(await row(key)).toMatchObject({ attempts: 0 });
    await removals.cancel(key);
    expect(await row(key)).toBeUndefined();
  });

  it('tries again after 2, 4, 8 s and on, up to an hour', async () => {
    await add('stubborn', -1);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 13; attempt++) {
      expect(await beginRemoval(service.database, 'stubborn')).toBe(true);
      waits.push(Math.round((await row('stubborn'))?.seconds ?? 0));
      await setDue();
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]);
  });
});
