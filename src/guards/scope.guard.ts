import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import { AccountSuspendedError, AuthenticationError, PermissionError } from '../platform/errors/errors.js';
import { AccessRulesService } from './access-rules.service.js';

/**
 * Refuses: 401 without valid credentials, 403 for a suspended account, then 403 for credentials without the scope that
 * the handler declares (D14).
 */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly rules: AccessRulesService) {}

  canActivate(context: ExecutionContext): boolean {
    const { scope, alsoScopes, allowAccessToken } = this.rules.of(context);
    if (scope === null) return true;
    const { principal } = context.switchToHttp().getRequest<IdentifiedRequest>();
    if (!principal) throw new AuthenticationError();
    if (principal.suspended) throw new AccountSuspendedError();
    if (principal.credential === 'access_token') {
      if (allowAccessToken) return true;
      throw new PermissionError(scope, 'An access token can only be used to upload recordings.');
    }
    const missing = [scope, ...alsoScopes].find((needed) => !principal.scopes.includes(needed));
    if (missing !== undefined) throw new PermissionError(missing);
    return true;
  }
}
