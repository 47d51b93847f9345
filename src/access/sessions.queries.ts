import type { SqlRunner } from '../platform/database/database.service.js';
import type { KeyAccess } from './accounts.queries.js';

/** Days without a request after which a session ends. */
export const IDLE_DAYS = 7;

/**
 * The condition that a session is valid: its person is still a member of the account for which it acts. SQL for statements
 * of modules that do not know the tables.
 * @param session alias of the table in the statement
 */
export const isLiveSession = (session: string): string => `(
  ${session}.expires_at > now() AND ${session}.last_seen_at > now() - interval '${IDLE_DAYS} days' AND EXISTS (
    SELECT FROM memberships member
    WHERE member.person_id = ${session}.person_id AND member.account_id = ${session}.account_id))`;

/** As `selectKeyAccess`, for what a session has signed for. */
export async function selectSessionAccess(
  runner: SqlRunner,
  accountId: string,
  sessionId: string,
): Promise<KeyAccess | null> {
  const [row] = await runner.prepared<KeyAccess>(
    `SELECT a.status = 'suspended' AS suspended, EXISTS (
       SELECT FROM sessions s WHERE s.id = $2 AND s.account_id = a.id AND ${isLiveSession('s')}) AS "keyIsValid"
     FROM accounts a WHERE a.id = $1`,
    [accountId, sessionId],
  );
  return row ?? null;
}

/**
 * Those of the sessions that are valid and act for an active account, with the account. Sessions of OpenID providers are
 * left out while no request has had them confirmed for a minute.
 */
export async function selectLiveSessions(
  runner: SqlRunner,
  sessionIds: readonly string[],
): Promise<{ id: string; accountId: string }[]> {
  return await runner.prepared(
    `SELECT s.id, s.account_id AS "accountId" FROM sessions s JOIN accounts a ON a.id = s.account_id
     WHERE s.id = ANY ($1) AND a.status = 'active' AND ${isLiveSession('s')}
       AND (s.checked_at IS NULL OR s.checked_at > now() - interval '1 minute')`,
    [sessionIds],
  );
}
