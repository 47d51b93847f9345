import type { RateLimit } from '../platform/config/env.js';
import type { Quotas } from './plans.js';
import type { Scope } from './scopes.js';

/** What end users may do with their own recordings, beside uploading (D94). */
export const END_USER_RIGHTS = ['read', 'delete'] as const;
export type EndUserRight = (typeof END_USER_RIGHTS)[number];

/** The caller of a request: the account, what its credentials allow, and the end user it acts for. */
export interface Principal {
  accountId: string;
  suspended: boolean;
  /** A test account: its recordings are scripted, and nothing of it is seen in the live account (D80). */
  isTest: boolean;
  /** Whether requests that only read are recorded in the audit log (D98). */
  recordsReads: boolean;
  limit: RateLimit;
  quotas: Quotas;
  /**
   * `access_token` credentials hold no scope: they upload (D15), and do what `endUserRights` has. A `session` has those of
   * its person's role (D97).
   */
  credential: 'api_key' | 'access_token' | 'session';
  /** The API key of the request, or the one that issued its access token; null for a session, and a token that names none. */
  keyId: string | null;
  keyExpiresAt: Date | null;
  /** The address of the request, if the API key may not be used from there (D95). */
  refusedAddress: string | null;
  /** The access token of the request; null without one, and for one that has no id. */
  tokenId: string | null;
  /** The session of the request, and who has signed in; null for other credentials. */
  sessionId: string | null;
  personId: string | null;
  /** The account's credential version: it grows with every change of its credentials. */
  version: number;
  scopes: readonly Scope[];
  /** The end user named by an access token: its `identity` in the API. */
  userId: string | null;
  /** Empty but for tokens of an account's own issuer. */
  endUserRights: readonly EndUserRight[];
}
