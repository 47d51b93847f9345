import { ApiError, ConnectionError, TimeoutError } from 'vnotes';

import { t } from '../../language/texts';
import { problemOf, unreadable } from './problems';
import type { Problem } from '../store/upload-item';

/** What follows from a failed attempt. */
export type Outcome =
  | { kind: 'wait'; cause: 'network' | 'limit' | 'service'; seconds: number }
  | { kind: 'signed-out' }
  | { kind: 'refused'; problem: Problem };

const LONGEST_WAIT_SECONDS = 30;

/** @param attempt that failed: 1 for the first */
export function outcomeOf(error: unknown, attempt: number): Outcome {
  const seconds = Math.min(2 ** (attempt - 1), LONGEST_WAIT_SECONDS);
  if (error instanceof ConnectionError || error instanceof TimeoutError) {
    return { kind: 'wait', cause: 'network', seconds };
  }
  if (!(error instanceof ApiError)) return { kind: 'refused', problem: problemOfPlatform(error) };
  if (error.status === 401) return { kind: 'signed-out' };
  const problem = error.status === 429 ? null : problemOf(error);
  if (problem) return { kind: 'refused', problem };
  const cause = error.status === 429 ? 'limit' : 'service';
  return { kind: 'wait', cause, seconds: error.retryAfter ?? seconds };
}

function problemOfPlatform(error: unknown): Problem {
  if (error instanceof DOMException && ['NotReadableError', 'NotFoundError'].includes(error.name)) return unreadable();
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'refused', message, hint: t('It is kept here: try again, or download it.') };
}
