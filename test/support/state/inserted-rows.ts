import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';

/** Expressions of SQL by column, in which `i` counts the rows of a call from 1. */
export type SqlColumns = Record<string, string>;

type Owner = Pick<ApiClient, 'accountId'>;

/** Recordings that wait, without audio. @param columns that differ @returns their ids, in the order of `i` */
export async function insertRecordings(
  service: TestService,
  owner: Owner,
  columns: SqlColumns = {},
  count = 1,
): Promise<string[]> {
  const { status = `'processing'` } = columns;
  const row = {
    original_filename: `'a.wav'`,
    object_key: 'gen_random_uuid()',
    bucket: `'b'`,
    duration_ms: '1000',
    file_size_bytes: '1',
    audio_format: `'wav'`,
    upload_source: `'api'`,
    status,
    created_at: 'now()',
    updated_at: 'now()',
    ...(status !== `'processing'` && { processed_at: 'now()' }),
    ...(status === `'transcribed'` && { features: `'{}'` }),
    ...(status === `'failed'` && { failure_reason: `'x'` }),
  };
  return await insert(service, 'recordings', owner, { ...row, ...columns }, count);
}

/** Events that no webhook has. @returns their ids, in the order of `i` */
export async function insertEvents(
  service: TestService,
  owner: Owner,
  columns: SqlColumns = {},
  count = 1,
): Promise<string[]> {
  const row = { kind: `'recording.failed'`, recording_id: 'gen_random_uuid()', run: '1', body: `'{}'` };
  return await insert(service, 'events', owner, { ...row, created_at: 'now()', ...columns }, count);
}

/** Deliveries that are due, each of an event of its own and of its time. @returns their ids, in the order of `i` */
export async function insertDeliveries(
  service: TestService,
  owner: Owner,
  webhookId: string,
  columns: SqlColumns = {},
  count = 1,
): Promise<string[]> {
  const { status = `'pending'`, created_at = 'now()' } = columns;
  const events = await insertEvents(service, owner, { created_at }, count);
  const row = {
    event_id: `('{${events.join()}}'::uuid[])[i]`,
    webhook_id: `'${webhookId}'::uuid`,
    status,
    created_at,
    updated_at: 'now()',
    ...(status === `'pending'` && { next_attempt_at: 'now()' }),
  };
  return await insert(service, 'deliveries', owner, { ...row, ...columns }, count);
}

async function insert(
  { database }: TestService,
  table: string,
  { accountId }: Owner,
  columns: SqlColumns,
  count: number,
): Promise<string[]> {
  const row: SqlColumns = { id: 'gen_random_uuid()', account_id: '$1::uuid', ...columns };
  const rows = await database.query<{ id: string }>(
    `INSERT INTO ${table} (${Object.keys(row).join(', ')}) SELECT ${Object.values(row).join(', ')}
     FROM generate_series(1, $2::int) i RETURNING id`,
    [accountId, count],
  );
  return rows.map(({ id }) => id);
}
