import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { AccountSuspendedError, PermissionError } from '../platform/errors/errors.js';
import { AccessRulesService } from './access-rules.service.js';
import { verdictOf } from './verdict.js';

/** 403 for a suspended account, then for credentials without the scope that the handler declares. */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly rules: AccessRulesService) {}

  canActivate(context: ExecutionContext): boolean {
    const { scope, allowAccessToken } = this.rules.of(context);
    const principal = verdictOf(context.switchToHttp().getRequest<Request>())?.principal;
    if (scope === null || !principal) return scope === null;
    if (principal.suspended) throw new AccountSuspendedError();
    if (principal.credential === 'access_token') {
      if (allowAccessToken) return true;
      throw new PermissionError(scope, 'An access token is good for uploading only.');
    }
    if (!principal.scopes.includes(scope)) throw new PermissionError(scope);
    return true;
  }
}
