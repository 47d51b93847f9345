import type { QueryRunner } from 'typeorm';

/** Arbitrary, the same in all processes. */
const RECONCILER_LOCK = 7_305_119;

/**
 * A lock of the transaction and not of the session, which a pooler gives to others.
 * @returns whether the transaction of `runner` now holds it. SQL because TypeORM has no advisory locks.
 */
export async function tryReconcilerLock(runner: QueryRunner): Promise<boolean> {
  const [answer] = (await runner.query('SELECT pg_try_advisory_xact_lock($1) AS held', [RECONCILER_LOCK])) as [
    { held: boolean },
  ];
  return answer.held;
}

/** Lets Postgres end the transaction, and its lock, after this time without a statement. SQL: a setting. */
export async function setIdleTimeout(runner: QueryRunner, seconds: number): Promise<void> {
  await runner.query(`SELECT set_config('idle_in_transaction_session_timeout', $1, true)`, [`${seconds}s`]);
}
