import { isNativeError } from 'node:util/types';
import { retry } from '../concurrency/retry.js';
import type { Env } from '../config/env.js';

/** Errors of the socket to Postgres. */
const SOCKET_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT']);
/**
 * SQLSTATE 08 connection exception, 53 insufficient resources, 57P shutdown or crash, 57014 statement_timeout, 55P03
 * lock_timeout, 25P03 idle_in_transaction_session_timeout, 25006 read-only after a fail-over.
 */
const SQLSTATES = /^(08...|53...|57P0.|57014|55P03|25P03|25006)$/;
/** Messages of `pg` that come without a code. */
const MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|client was closed|driver not connected|connection is not established/i;

/** Between two attempts while Postgres is unavailable. */
const RETRY_MS = 300;

/**
 * Repeats `work`, which must be idempotent, until Postgres answers.
 * @throws any other error of `work` at once, and the signal's reason when it is aborted.
 */
export async function retryWhileUnavailable<T>(
  work: () => Promise<T>,
  { signal }: { signal: AbortSignal },
): Promise<T> {
  return await retry(work, (error) => (isDatabaseUnavailable(error) ? RETRY_MS : null), signal);
}

/** Whether `pg` gave up a statement, while Postgres may still run it. */
export function isQueryTimeout(error: unknown): boolean {
  return isNativeError(error) && error.message === 'Query read timeout';
}

/** Whether Postgres is unavailable for now. Any other error is a defect of the service. */
export function isDatabaseUnavailable(error: unknown): boolean {
  // Not `instanceof`: in Jest, errors of Node's sockets come from another realm.
  if (!isNativeError(error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  if (SQLSTATES.test(code) || MESSAGES.test(error.message)) return true;
  const fromDatabase = 'syscall' in error || 'driverError' in error || 'errors' in error;
  return fromDatabase && SOCKET_CODES.has(code);
}

/** Runs a command. @throws Error whose message is a line for an operator */
export async function inOperatorsWords<T>(
  { databaseUrl }: Pick<Env, 'databaseUrl'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(connectionErrorMessage(error, databaseUrl) ?? (error as Error).message, { cause: error });
  }
}

/** One line for an operator when Postgres cannot be reached; null for any other error. */
export function connectionErrorMessage(error: unknown, databaseUrl: string): string | null {
  if (error instanceof Error && /unsupported startup parameter/.test(error.message)) {
    return 'DATABASE_URL leads to a pooler in front of PostgreSQL: set DATABASE_POOLER=true.';
  }
  if (!isDatabaseUnavailable(error)) return null;
  const { hostname, port } = new URL(databaseUrl);
  return `Cannot reach PostgreSQL at ${hostname || 'localhost'}:${port || 5432} (DATABASE_URL).`;
}
