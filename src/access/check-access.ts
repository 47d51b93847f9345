import {
  AccountSuspendedError,
  AddressNotAllowedError,
  AuthenticationError,
  PermissionError,
} from '../platform/errors/errors.js';
import type { AccessRule } from './access.decorators.js';
import type { Principal } from './principal.js';

/**
 * Refuses: 401 without valid credentials, 403 for a key that may not be used from this address (D95), for a suspended
 * account, then for credentials without the scope (D14). What people may do with any role they may do in a suspended
 * account, too.
 * `ScopeGuard` asks it for handlers, the MCP server for its tools.
 * @throws AuthenticationError, AddressNotAllowedError, AccountSuspendedError, PermissionError
 */
export function checkAccess(principal: Principal | undefined, rule: AccessRule): void {
  const { scope, alsoScopes, allowAccessToken, endUserRight, anyKey, session } = rule;
  if (isPublic(rule)) return;
  if (!principal) throw new AuthenticationError();
  if (principal.refusedAddress !== null) throw new AddressNotAllowedError(principal.refusedAddress);
  if (session && principal.credential !== 'session')
    throw new PermissionError(null, 'This operation is for people who have signed in: it takes a session.');
  if (session && scope === null) return;
  if (principal.suspended) throw new AccountSuspendedError();
  if (principal.credential === 'access_token') {
    if (allowAccessToken || (endUserRight && principal.endUserRights.includes(endUserRight))) return;
    throw new PermissionError(scope, permissionsOf(principal));
  }
  const missing = [scope, ...alsoScopes].find((needed) => needed !== null && !principal.scopes.includes(needed));
  const isPerson = principal.credential === 'session';
  if (missing !== undefined && isPerson) throw new PermissionError(missing, `Your role lacks the scope ${missing}.`);
  if (missing !== undefined) throw new PermissionError(missing);
  if (anyKey && isPerson) throw new PermissionError(scope, 'This operation takes an API key, and no session.');
}

function permissionsOf({ endUserRights }: Principal): string {
  return endUserRights.length === 0
    ? 'An access token can only be used to upload recordings.'
    : `This token can only be used to upload recordings, and to ${endUserRights.join(' and ')} those of its end user.`;
}

/**
 * A list's query, restricted to the end user of a token (D94). With other credentials it is the query itself.
 * @throws PermissionError when the query is for another end user
 */
export function limitToEndUser<Query extends { user_id?: string }>(
  { credential, userId }: Principal,
  query: Query,
): Query {
  if (credential !== 'access_token') return query;
  if (userId === null || (query.user_id !== undefined && query.user_id !== userId))
    throw new PermissionError(null, 'This token lists only the recordings of its own end user.');
  return { ...query, user_id: userId };
}

/** Whether nothing is required of a caller. */
export const isPublic = ({ scope, anyKey, session }: AccessRule): boolean => scope === null && !anyKey && !session;
