import { setTimeout as delay } from 'node:timers/promises';
import { isNativeError } from 'node:util/types';

/** Socket errors, and the SQLSTATE classes in which Postgres says that it cannot serve now. */
const SOCKET_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT']);
/** 08 connection exception, 53 insufficient resources, 57P shutdown and crash, 25006 read-only after a fail-over. */
const SQLSTATES = /^(08...|53...|57P0.|25006)$/;
/** The messages that `pg` gives without a code. */
const MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|driver not connected|connection is not established/i;

/** Between attempts to write something down while Postgres is away. */
const AGAIN_MS = 300;

/**
 * Repeats `work`, which must do no harm when it is repeated, until Postgres answers.
 * @param ms for so long at the most.
 * @throws whatever else `work` throws, its last error when the time is over, and the reason of `signal` once that is
 *   aborted.
 */
export async function retryWhileUnavailable<T>(
  work: () => Promise<T>,
  { signal, ms = Number.POSITIVE_INFINITY }: { signal: AbortSignal; ms?: number },
): Promise<T> {
  const deadline = Date.now() + ms;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseUnavailable(error) || Date.now() > deadline) throw error;
      signal.throwIfAborted();
      await delay(AGAIN_MS, null, { signal });
    }
  }
}

/** Whether an error says that Postgres is out of reach for now, as opposed to a defect of ours. */
export function isDatabaseUnavailable(error: unknown): boolean {
  // Not `instanceof`: errors of Node's own sockets come from another realm where tests run in one of their own.
  if (!isNativeError(error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  if (SQLSTATES.test(code) || MESSAGES.test(error.message)) return true;
  const fromDatabase = 'syscall' in error || 'driverError' in error || 'errors' in error;
  return fromDatabase && SOCKET_CODES.has(code);
}
