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
 * account, then for credentials without the scope (D14).
 * `ScopeGuard` asks it for handlers, the MCP server for its tools.
 * @throws AuthenticationError, AddressNotAllowedError, AccountSuspendedError, PermissionError
 */
export function checkAccess(principal: Principal | undefined, rule: AccessRule): void {
  const { scope, alsoScopes, allowAccessToken, endUserRight } = rule;
  if (isPublic(rule)) return;
  if (!principal) throw new AuthenticationError();
  if (principal.refusedAddress !== null) throw new AddressNotAllowedError(principal.refusedAddress);
  if (principal.suspended) throw new AccountSuspendedError();
  if (principal.credential === 'access_token') {
    if (allowAccessToken || (endUserRight && principal.endUserRights.includes(endUserRight))) return;
    throw new PermissionError(scope, permissionsOf(principal));
  }
  const missing = [scope, ...alsoScopes].find((needed) => needed !== null && !principal.scopes.includes(needed));
  if (missing !== undefined) throw new PermissionError(missing);
}

function permissionsOf({ endUserRights }: Principal): string {
  return endUserRights.length === 0
    ? 'An access token can only be used to upload recordings.'
    : `This token can only be used to upload recordings, and to ${endUserRights.join(' and ')} those of its end user.`;
}

/**
 * A list's query, restricted to the end user of a token (D94). With an API key it is the query itself.
 * @throws PermissionError when the query is for another end user
 */
export function limitToEndUser<Query extends { user_id?: string }>(
  { credential, userId }: Principal,
  query: Query,
): Query {
  if (credential === 'api_key') return query;
  if (userId === null || (query.user_id !== undefined && query.user_id !== userId))
    throw new PermissionError(null, 'This token lists only the recordings of its own end user.');
  return { ...query, user_id: userId };
}

/** Whether nothing is required of a caller. */
export const isPublic = ({ scope, anyKey }: AccessRule): boolean => scope === null && !anyKey;
