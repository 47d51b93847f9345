import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import { AuthenticationError, RateLimitError } from '../platform/errors/errors.js';
import { AccessRulesService } from './access-rules.service.js';
import { verdictOf } from './verdict.js';

/** 401 for whoever is not known, 503 when nobody could be asked. */
@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(private readonly rules: AccessRulesService) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    const verdict = verdictOf(request);
    if (verdict?.principal) request.principal = verdict.principal;
    if (this.rules.of(context).scope === null) return true;
    if (!verdict || verdict.failure) throw verdict?.failure ?? new AuthenticationError();
    if (verdict.principal) return true;
    // Guessing is slowed down by the address's bucket. The limit gives nothing away: a valid pair never gets here.
    throw verdict.bucket.taken ? new AuthenticationError() : new RateLimitError(verdict.bucket.retryAfter);
  }
}
