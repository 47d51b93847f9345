import type { RateLimit } from '../platform/config/env.js';
import type { Scope } from './scopes.js';

/** Who is asking: the account, what its credentials allow, and for whom a note is being uploaded. */
export interface Principal {
  accountId: string;
  suspended: boolean;
  limit: RateLimit;
  /** `access_token` credentials hold no scope: they are good for uploading only (D15). */
  credential: 'api_key' | 'access_token';
  scopes: readonly Scope[];
  /** The end user named by an access token. */
  identity: string | null;
}
