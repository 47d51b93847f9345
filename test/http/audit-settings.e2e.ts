import { readActionOf } from '../../src/guards/audit-reads.guard.js';
import { AuditLogService } from '../../src/modules/audit/audit-log.service.js';
import { AuditRetentionService } from '../../src/modules/audit/audit-retention.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { expectInvalid } from '../support/http/expect-errors.js';
import { call, NAMED_OPERATIONS, OPERATIONS, SharedResources } from '../support/http/operations.js';
import { signIn } from '../support/http/session-client.js';
import { transcribesAtOnce } from '../support/service/instant-transcriber.js';
import { upload } from '../support/state/recording-states.js';

const LOG = '/v1/account/audit-log';
const SETTINGS = `${LOG}/settings`;

interface Row {
  action: string;
  outcome: string;
  kind: string;
  request: string | null;
  targets: { type: string; id: string }[];
}

const service = useService({ ROLES: 'api' }, { extensions: [transcribesAtOnce] });

/** Not by the interface, which would leave entries itself. */
const rowsOf = async ({ accountId }: ApiClient, condition = 'true'): Promise<Row[]> =>
  await service.database.query(
    `SELECT action, outcome, actor_kind AS kind, request_id AS request, targets FROM audit_entries
     WHERE account_id = $1 AND ${condition} ORDER BY id`,
    [accountId],
  );
const set = async (client: ApiClient, settings: object) =>
  await client.put(SETTINGS, { records_reads: false, retain_days: null, ...settings }).expect(200);

describe('the settings of the audit log (D98)', () => {
  it('are the account’s own, and a change of them leaves an entry', async () => {
    const [client, other] = [await service.account(), await service.account()];
    const none = { records_reads: false, retain_days: null, uri: SETTINGS };
    expect((await client.get(SETTINGS).expect(200)).body).toEqual(none);
    const chosen = { ...none, records_reads: true, retain_days: 30 };
    expect((await set(client, { records_reads: true, retain_days: 30 })).body).toEqual(chosen);
    await set(client, { records_reads: true, retain_days: 30 });
    expect((await client.get(SETTINGS).expect(200)).body).toEqual(chosen);
    expect((await other.get(SETTINGS).expect(200)).body).toEqual(none);
    expectInvalid(await client.put(SETTINGS, { records_reads: true, retain_days: 29 }), 'retain_days');
    const { body } = await client.get(`${LOG}?action=audit_log.updated`).expect(200);
    expect(body.entries).toMatchObject([
      { before: { records_reads: false, retain_days: null }, after: { records_reads: true, retain_days: 30 } },
    ]);
  });
});

describe('reads (D98)', () => {
  const READS = NAMED_OPERATIONS.filter(
    ([name, { method }]) => method === 'GET' || name === 'POST /v1/recordings/:recording_id/audio-url',
  );
  let owner: ApiClient;
  let resources: SharedResources;

  beforeAll(async () => {
    owner = await service.account();
    resources = new SharedResources(service, owner);
    // All of them are made before reads are recorded.
    for (const operation of OPERATIONS) await resources.of(operation);
    await set(owner, { records_reads: true });
  });

  it.each(READS)('has exactly the entry of %s', async (name, operation) => {
    const ids = await resources.of(operation);
    const requestId = name.replaceAll(/\W+/g, '-');
    const answer = await call(owner, operation, ids).set('X-Request-Id', requestId);
    expect(answer.status).toBe(operation.success);
    const path = operation.path;
    const targets = Object.entries({ ...ids, model: 'any' })
      .filter(([parameter]) => path.includes(`:${parameter}`))
      .map(([parameter, id]) => ({ type: parameter.replace('_id', ''), id }));
    // A stream has answered before its handler has ended.
    const rows = await eventually(async () => {
      const found = await rowsOf(owner, `request_id = '${requestId}'`);
      return found.length > 0 && found;
    });
    expect(rows).toEqual([
      { action: readActionOf(path), outcome: 'success', kind: 'api_key', request: requestId, targets },
    ]);
  });

  it('that find nothing are failures, name only what may exist, and are refused ones not at all', async () => {
    const client = await service.account();
    await set(client, { records_reads: true });
    const unknown = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';
    await client.get(`/v1/recordings/${unknown}`).expect(404);
    await client.get('/v1/recordings/%00a%20name').expect(404);
    const weak = await service.key(client, ['webhooks:read']);
    await weak.get('/v1/recordings').expect(403);
    const rows = await rowsOf(client, `action LIKE '%.read'`);
    expect(rows.map(({ action, outcome, targets }) => [action, outcome, targets])).toEqual([
      ['recordings.read', 'failure', [{ type: 'recording', id: unknown }]],
      ['recordings.read', 'failure', []],
    ]);
  });

  it('are not answered when they cannot be recorded', async () => {
    const client = await service.account();
    const id = await upload(client);
    await set(client, { records_reads: true });
    await service.database.query(
      `ALTER TABLE audit_entries ADD CONSTRAINT no_reads CHECK (action <> 'recordings.read') NOT VALID`,
    );
    const answer = await client.get(`/v1/recordings/${id}`).expect(500);
    const unknown = await client.get('/v1/recordings/019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60').expect(500);
    await service.database.query('ALTER TABLE audit_entries DROP CONSTRAINT no_reads');
    expect([answer, unknown].map(({ body }) => Object.keys(body as object))).toEqual([['error'], ['error']]);
    await client.get(`/v1/recordings/${id}`).expect(200);
  });

  it('know who read in a session, and end with the setting', async () => {
    const client = await service.account();
    const id = await upload(client);
    const ada = await signIn(service, client.accountId, { email: 'ada@example.com' });
    const read = async () => await ada.get(`/v1/recordings/${id}`).expect(200);
    await read();
    await set(client, { records_reads: true });
    await read();
    await ada.send('post', `/v1/recordings/${id}/audio-url`).expect(201);
    await set(client, {});
    await read();
    const rows = await rowsOf(client, `action LIKE '%.read'`);
    expect(rows.map(({ action, kind }) => [action, kind])).toEqual([
      ['recordings.read', 'person'],
      ['recordings.audio_url.read', 'person'],
    ]);
  });
});

describe('JSON lines of the audit log (D98)', () => {
  const linesOf = (text: string) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { number: number; action: string });

  it('go on behind the last one, oldest first, with the same filters and the same fields', async () => {
    const client = await service.account();
    for (const term of ['a', 'b', 'c']) {
      await client.put('/v1/account/vocabulary', { vocabulary: [`Term ${term}`] }).expect(200);
    }
    const { body } = await client.get(LOG).expect(200);
    const all = (body.entries as { number: number }[]).toReversed();
    const followed = [];
    for (let after = 0, more = true; more;) {
      const answer = await client.get(`${LOG}?format=jsonl&limit=2&after=${after}`).expect(200);
      expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
      const lines = linesOf(answer.text);
      followed.push(...lines);
      after = lines.at(-1)?.number ?? after;
      more = lines.length > 0;
    }
    expect(followed).toEqual(all);
    await client.put('/v1/account/vocabulary', { vocabulary: ['Term d'] }).expect(200);
    const next = await client.get(`${LOG}?after=${all.length}`).set('Accept', 'application/x-ndjson').expect(200);
    expect(linesOf(next.text)).toMatchObject([{ number: all.length + 1, action: 'vocabulary.updated' }]);
    const filtered = await client.get(`${LOG}?format=jsonl&action=vocabulary.updated&limit=1`).expect(200);
    expect(linesOf(filtered.text)).toMatchObject([{ action: 'vocabulary.updated' }]);
    expectInvalid(await client.get(`${LOG}?after=1`), 'after');
    expectInvalid(await client.get(`${LOG}?format=jsonl&page=1`), 'page');
    expectInvalid(await client.get(`${LOG}?format=csv`), 'format');
  });
});

describe('the retention of the audit log (D98)', () => {
  const KEPT = 30;
  const removeDue = async () => await service.app.get(AuditRetentionService).removeDue();
  const verify = async ({ accountId }: ApiClient) => (await service.app.get(AuditLogService).verify(accountId)).broken;
  /** Entries in the order of their ids, so many days old, of an account that keeps them for 30 days. */
  async function accountWith(...days: number[]): Promise<ApiClient> {
    const client = await service.account();
    await service.database.query('DELETE FROM audit_entries WHERE account_id = $1', [client.accountId]);
    await service.database.query(
      `INSERT INTO audit_entries (id, account_id, at, action, outcome, actor_kind, targets)
       SELECT (lpad(to_hex(i), 8, '0') || substr(gen_random_uuid()::text, 9))::uuid,
         $1, now() - make_interval(days => age), 'recording.updated', 'success', 'system', '[]'
       FROM unnest($2::int[]) WITH ORDINALITY AS old (age, i)`,
      [client.accountId, days],
    );
    await set(client, { retain_days: KEPT });
    await client.get(LOG).expect(200);
    return client;
  }
  const numbers = async ({ accountId }: ApiClient) =>
    (
      await service.database.query<{ number: number; action: string }>(
        'SELECT number::int, action FROM audit_entries WHERE account_id = $1 ORDER BY number',
        [accountId],
      )
    ).map(({ number, action }) => [number, action]);

  it('removes the oldest entries, once, and leaves one that says where the chain begins', async () => {
    const client = await accountWith(40, 35, 32, 29);
    await removeDue();
    await removeDue();
    const left = [
      [4, 'recording.updated'],
      [5, 'audit_log.updated'],
      [6, 'audit_log.entries_removed'],
    ];
    expect(await numbers(client)).toEqual(left);
    expect(await verify(client)).toBeNull();
    const { body } = await client.get(`${LOG}?action=audit_log.entries_removed`).expect(200);
    expect(body.entries).toMatchObject([{ actor: { kind: 'system' }, after: { last_number: 3 } }]);
    // Kept as long as another account wants.
    const other = await accountWith(40);
    await set(other, {});
    await removeDue();
    expect((await numbers(other))[0]).toEqual([1, 'recording.updated']);
  });

  it('hides nothing: what was changed is kept, and a beginning that was moved is found', async () => {
    const changed = await accountWith(40, 39, 38);
    await service.database.query(
      `UPDATE audit_entries SET action = 'recording.deleted' WHERE account_id = $1 AND number = 2`,
      [changed.accountId],
    );
    await removeDue();
    expect((await numbers(changed)).slice(0, 2)).toEqual([
      [2, 'recording.deleted'],
      [3, 'recording.updated'],
    ]);
    expect(await verify(changed)).toMatchObject({ number: 2, problem: 'changed' });

    const moved = await accountWith(40, 29, 28);
    await removeDue();
    expect(await verify(moved)).toBeNull();
    await service.database.query('DELETE FROM audit_entries WHERE account_id = $1 AND number = 2', [moved.accountId]);
    expect(await verify(moved)).toMatchObject({ number: 2, problem: 'missing' });
    await service.database.query(
      `UPDATE audit_logs l SET removed_number = 2, removed_hash = e.previous_hash FROM audit_entries e
       WHERE l.account_id = $1 AND e.account_id = $1 AND e.number = 3`,
      [moved.accountId],
    );
    expect(await verify(moved)).toMatchObject({ number: 2, problem: 'missing' });
  });
});
