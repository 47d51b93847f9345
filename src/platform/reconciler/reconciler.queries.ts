import type { QueryRunner } from 'typeorm';

/** Arbitrary, the same in all processes. */
const RECONCILER_LOCK = 7_305_119;

/**
 * Tries to take the reconciler's lock for the transaction of `runner`. A lock of the transaction and not of the session,
 * which a pooler gives to others. Postgres ends the transaction after `idleSeconds` without a statement; one statement sets
 * that and takes the lock, because a process may freeze between two.
 * @returns whether the transaction now holds it. SQL because TypeORM has no advisory locks.
 */
export async function tryReconcilerLock(runner: QueryRunner, idleSeconds: number): Promise<boolean> {
  const [answer] = (await runner.query(
    `SELECT set_config('idle_in_transaction_session_timeout', $2, true), pg_try_advisory_xact_lock($1) AS held`,
    [RECONCILER_LOCK, `${idleSeconds}s`],
  )) as [{ held: boolean }];
  return answer.held;
}
