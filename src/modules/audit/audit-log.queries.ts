import { IsNull } from 'typeorm';
import type { SqlRunner, Tx } from '../../platform/database/database.service.js';
import { hashOf } from './audit-chain.js';
import { AuditEntry, AuditLog } from './audit-entry.entity.js';

/** The entry that says with which hash the chain begins since its oldest entries were removed. */
export const ENTRIES_REMOVED = 'audit_log.entries_removed';

/**
 * Gives numbers and hashes to the next entries of the chain. Two at a time wait for each other on the row of the chain, and
 * each statement sees what was committed before it, so that each reader of a number sees all lower ones (decision 0013).
 * @returns how many.
 */
export async function sealSome(tx: Tx, accountId: string, count: number): Promise<number> {
  const log = await lockLog(tx, accountId);
  const entries = await tx.manager.find(AuditEntry, {
    where: { accountId, number: IsNull() },
    order: { id: 'ASC' },
    take: count,
  });
  const end = { number: Number(log.lastNumber), hash: log.lastHash };
  const sealed = entries.map((entry) => {
    const previousHash = end.hash;
    end.number++;
    end.hash = hashOf(entry, end.number, previousHash);
    return { id: entry.id, number: end.number, previousHash, hash: end.hash };
  });
  if (sealed.length === 0) return 0;
  await writeSeals(tx, sealed);
  await tx.manager.update(AuditLog, { accountId }, { lastNumber: `${end.number}`, lastHash: end.hash });
  return sealed.length;
}

/** SQL because of ON CONFLICT and the lock. */
export async function lockLog(tx: Tx, accountId: string): Promise<AuditLog> {
  await tx.query('INSERT INTO audit_logs (account_id) VALUES ($1) ON CONFLICT (account_id) DO NOTHING', [accountId]);
  return await tx.manager.findOneOrFail(AuditLog, { where: { accountId }, lock: { mode: 'for_no_key_update' } });
}

interface Seal {
  id: string;
  number: number;
  previousHash: string;
  hash: string;
}

/** SQL, because one statement changes many rows. */
async function writeSeals(tx: Tx, seals: readonly Seal[]): Promise<void> {
  await tx.query(
    `UPDATE audit_entries e SET number = s.number, previous_hash = s.previous, hash = s.hash
     FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[]) AS s (id, number, previous, hash) WHERE e.id = s.id`,
    [
      seals.map(({ id }) => id),
      seals.map(({ number }) => number),
      seals.map(({ previousHash }) => previousHash),
      seals.map(({ hash }) => hash),
    ],
  );
}

/** SQL because of DISTINCT. */
export async function selectUnsealedAccounts(runner: SqlRunner, count: number): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    'SELECT DISTINCT account_id AS id FROM audit_entries WHERE number IS NULL LIMIT $1',
    [count],
  );
  return rows.map(({ id }) => id);
}

/** Looked at: a backlog of more is as old. */
const UNSEALED = 10_000;

/** How long the oldest entry has waited for its seal, in seconds; 0 when none does. SQL because of the clock. */
export async function oldestUnsealedSeconds(runner: SqlRunner): Promise<number> {
  const [oldest] = await runner.query<{ seconds: number }>(
    `SELECT coalesce(extract(epoch FROM now() - min(at)), 0)::float8 AS seconds
     FROM (SELECT at FROM audit_entries WHERE number IS NULL LIMIT ${UNSEALED}) unsealed`,
  );
  return oldest?.seconds ?? 0;
}

/** Accounts that have entries, also such as have lost them all. SQL because of UNION. */
export async function selectAccountsWithLog(runner: SqlRunner): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    'SELECT account_id AS id FROM audit_logs UNION SELECT account_id FROM audit_entries ORDER BY 1',
  );
  return rows.map(({ id }) => id);
}

/**
 * Those whose oldest entry is due, and the beginning of the day (UTC) up to which entries are removed: whole days, so that a log
 * gets no entry of a removal in every round. SQL because of the interval.
 */
export async function selectDueLogs(runner: SqlRunner, count: number): Promise<{ accountId: string; before: Date }[]> {
  return await runner.query(
    `SELECT l.account_id AS "accountId", due.before FROM audit_logs l
     CROSS JOIN LATERAL (
       SELECT date_trunc('day', now(), 'UTC') - make_interval(days => l.retain_days) AS before) due
     WHERE l.retain_days IS NOT NULL AND EXISTS (
       SELECT FROM audit_entries e
       WHERE e.account_id = l.account_id AND e.number = l.removed_number + 1 AND e.at < due.before)
     LIMIT $1`,
    [count],
  );
}

/** SQL, because people belong to another module. @returns names by ids */
export async function selectNames(runner: SqlRunner, personIds: readonly string[]): Promise<Map<string, string>> {
  if (personIds.length === 0) return new Map();
  const people = await runner.query<{ id: string; name: string }>('SELECT id, name FROM people WHERE id = ANY ($1)', [
    personIds,
  ]);
  return new Map(people.map(({ id, name }) => [id, name]));
}
