import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';

/** Keys and webhooks that are there to be counted: nobody can use them. @returns their ids. */
export async function addKeys({ database }: TestService, { accountId }: ApiClient, count: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `INSERT INTO api_keys (id, account_id, name, key, secret_hash, scopes, created_at, updated_at)
     SELECT gen_random_uuid(), $1, 'Filler', 'vnk_filler_' || gen_random_uuid(), '', '{account:read}', now(), now()
     FROM generate_series(1, $2::int) RETURNING id`,
    [accountId, count],
  );
  return rows.map(({ id }) => id);
}

export async function addWebhooks(
  { database }: TestService,
  { accountId }: ApiClient,
  count: number,
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `INSERT INTO webhooks (id, account_id, url, events, encrypted_secret, status, created_at, updated_at)
     SELECT gen_random_uuid(), $1, 'https://hooks.example.com/', '{recording.failed}', '', 'active', now(), now()
     FROM generate_series(1, $2::int) RETURNING id`,
    [accountId, count],
  );
  return rows.map(({ id }) => id);
}
