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
  const { scope, alsoScopes, allowAccessToken } = rule;
  if (isPublic(rule)) return;
  if (!principal) throw new AuthenticationError();
  if (principal.refusedAddress !== null) throw new AddressNotAllowedError(principal.refusedAddress);
  if (principal.suspended) throw new AccountSuspendedError();
  if (principal.credential === 'access_token') {
    if (allowAccessToken) return;
    throw new PermissionError(scope, 'An access token can only be used to upload recordings.');
  }
  const missing = [scope, ...alsoScopes].find((needed) => needed !== null && !principal.scopes.includes(needed));
  if (missing !== undefined) throw new PermissionError(missing);
}

/** Whether nothing is required of a caller. */
export const isPublic = ({ scope, anyKey }: AccessRule): boolean => scope === null && !anyKey;
