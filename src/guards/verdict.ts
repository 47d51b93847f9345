import type { Request } from 'express';
import type { Principal } from '../access/principal.js';
import type { BucketState } from '../platform/rate-limit/bucket-state.js';

/**
 * What the gate found out about a request under `/v1`. The gate refuses nothing: the guards turn its verdict into
 * 401, 429, 403 or 503, so that an unknown path can still be a 404.
 */
export interface Verdict {
  /** Null when the credentials are missing or not valid. */
  principal: Principal | null;
  bucket: BucketState;
  /** Why the credentials could not be checked at all, as when Postgres is out of reach. */
  failure: Error | null;
}

const VERDICT = Symbol('verdict');

export function setVerdict(request: Request, verdict: Verdict): void {
  Object.assign(request, { [VERDICT]: verdict });
}

/** Undefined outside `/v1`. */
export function verdictOf(request: Request): Verdict | undefined {
  return (request as { [VERDICT]?: Verdict })[VERDICT];
}
