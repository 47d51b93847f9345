import type { QueryRunner } from 'typeorm';

/** Arbitrary, the same in all processes. */
const RECONCILER_LOCK = 7_305_119;

/** @returns whether the session of `runner` now holds the lock. SQL because TypeORM has no advisory locks. */
export async function tryReconcilerLock(runner: QueryRunner): Promise<boolean> {
  const [answer] = (await runner.query('SELECT pg_try_advisory_lock($1) AS held', [RECONCILER_LOCK])) as [
    { held: boolean },
  ];
  return answer.held;
}

/** Lets Postgres end the session, and its lock, after this time without a statement. SQL: a setting of the session. */
export async function setIdleSessionTimeout(runner: QueryRunner, seconds: number): Promise<void> {
  await runner.query(`SELECT set_config('idle_session_timeout', $1, false)`, [`${seconds}s`]);
}

/** Undoes both in one statement, before the session returns to the pool. SQL for the same reasons. */
export async function releaseReconcilerLock(runner: QueryRunner): Promise<void> {
  await runner.query(`SELECT set_config('idle_session_timeout', '0', false), pg_advisory_unlock($1)`, [
    RECONCILER_LOCK,
  ]);
}
