import type { SqlRunner, Tx } from '../platform/database/database.service.js';

/**
 * The condition that the queue of an account moves on: it is not suspended, or the operator lets it finish (D4). SQL for
 * statements of modules that do not know the table. Costs one look into an index that holds only accounts on hold.
 * @param accountId a column of the statement, such as `r.account_id`
 */
export const accountNotOnHold = (accountId: string): string => `NOT EXISTS (
  SELECT FROM accounts held WHERE held.id = ${accountId} AND held.status = 'suspended' AND NOT held.finish_queue)`;

/** SQL for statements of modules that do not know the table, as `accountNotOnHold`: the account is a test account (D80). */
export const isTestAccount = (accountId: string): string => `EXISTS (
  SELECT FROM accounts test WHERE test.id = ${accountId} AND test.test_of IS NOT NULL)`;

/** SQL for statements of modules that do not know the table, as `accountNotOnHold`: the account may be used. */
export const isActiveAccount = (accountId: string): string => `EXISTS (
  SELECT FROM accounts used WHERE used.id = ${accountId} AND used.status = 'active')`;

/** An account and its test account, or the other way round (D80). */
export interface AccountPair {
  /** Whether the account itself is a test account. */
  isTest: boolean;
  /** Its test account; null before its first test key. */
  testId: string | null;
}

/** SQL, because the entity of the table belongs to a module. Null when there is no such account. */
export async function selectAccountPair(runner: SqlRunner, accountId: string): Promise<AccountPair | null> {
  const [row] = await runner.query<AccountPair>(
    `SELECT a.test_of IS NOT NULL AS "isTest", t.id AS "testId"
     FROM accounts a LEFT JOIN accounts t ON t.test_of = a.id WHERE a.id = $1`,
    [accountId],
  );
  return row ?? null;
}

/**
 * Creates the test account of an account, unless it has one. SQL, because a function does what the role of these processes
 * may not.
 * @param newId of the account if it is created.
 */
export async function createTestAccount(runner: SqlRunner, accountId: string, newId: string): Promise<void> {
  await runner.query('SELECT create_test_account($1, $2)', [accountId, newId]);
}

/** SQL, because the entity of the table belongs to a module. */
export async function isRecordingOfUser(
  runner: SqlRunner,
  { accountId, userId, id }: { accountId: string; userId: string; id: string },
): Promise<boolean> {
  const found = await runner.prepared('SELECT FROM recordings WHERE id = $1 AND account_id = $2 AND user_id = $3', [
    id,
    accountId,
    userId,
  ]);
  return found.length > 0;
}

/** Where the parts of the archive of an account lie in storage, unless its row says otherwise (docs/decisions/0041). */
export const exportPrefix = ({ accountId, id }: { accountId: string; id: string }): string =>
  `${accountId}/exports/${id}`;

/**
 * Ends the export of an account: its archive cannot be read any more, and the reconciler removes it. SQL, because the
 * entity of the table belongs to a module.
 */
export async function endAccountExport(runner: SqlRunner, accountId: string): Promise<void> {
  await runner.query(
    `WITH ended AS (DELETE FROM account_exports WHERE account_id = $1 RETURNING account_id, id, parts, prefix)
     UPDATE object_removals r SET remove_after = now() FROM ended, generate_series(0, ended.parts - 1) n
     WHERE r.object_key = coalesce(prefix, ended.account_id || '/exports/' || ended.id) || '/' || n || '.tar'`,
    [accountId],
  );
}

/** After it, credentials of the account that were read before are out of date. SQL, as above. */
export async function raiseCredentialVersion(tx: Tx, accountId: string): Promise<void> {
  await tx.query('UPDATE accounts SET credential_version = credential_version + 1 WHERE id = $1', [accountId]);
}

/** What stands behind something that an API key has signed for. */
export interface KeyAccess {
  suspended: boolean;
  /** The key exists, is not revoked and has not expired. */
  keyIsValid: boolean;
}

/** SQL, because the entities of the tables belong to modules. Null when there is no such account. */
export async function selectKeyAccess(runner: SqlRunner, accountId: string, keyId: string): Promise<KeyAccess | null> {
  const [row] = await runner.prepared<KeyAccess>(
    `SELECT a.status = 'suspended' AS suspended, k.id IS NOT NULL AS "keyIsValid"
     FROM accounts a LEFT JOIN api_keys k ON k.id = $2 AND k.account_id = a.id AND k.revoked_at IS NULL
       AND (k.expires_at IS NULL OR k.expires_at > now())
     WHERE a.id = $1`,
    [accountId, keyId],
  );
  return row ?? null;
}

/**
 * Those of the API keys that may still be used with this scope. SQL, because the entities of the tables belong to
 * modules.
 */
export async function selectLiveKeys(runner: SqlRunner, keyIds: readonly string[], scope: string): Promise<string[]> {
  const rows = await runner.prepared<{ id: string }>(
    `SELECT k.id FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.id = ANY ($1) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
       AND $2 = ANY (k.scopes) AND a.status = 'active'`,
    [keyIds, scope],
  );
  return rows.map(({ id }) => id);
}

/** SQL, because the entity of the table belongs to a module. 0 when the account was deleted. */
export async function readCredentialVersion(tx: Tx, accountId: string): Promise<number> {
  const [row] = await tx.query<{ version: number }>(
    'SELECT credential_version AS version FROM accounts WHERE id = $1',
    [accountId],
  );
  return row?.version ?? 0;
}
