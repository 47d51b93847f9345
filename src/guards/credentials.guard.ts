import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import { AccessRulesService } from './access-rules.service.js';
import { AddressLimitService } from './address-limit.service.js';
import { isApiRequest } from './api-path.js';
import { AuthenticatorService } from './authenticator.service.js';

/**
 * Authenticates: sets `request.principal` where the credentials are valid. It lets other requests pass, because they too
 * must take a token, of their address (D6); `ScopeGuard` answers them with 401.
 */
@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly authenticator: AuthenticatorService,
    private readonly addressLimit: AddressLimitService,
    private readonly rules: AccessRulesService,
  ) {}

  /** @throws ServiceUnavailableError when the credentials cannot be checked. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    if (!isApiRequest(request)) return true;
    try {
      request.principal = (await this.authenticator.authenticate(request.headers)) ?? undefined;
    } catch (error) {
      if (this.rules.of(context).scope === null) return true;
      await this.addressLimit.showHeaders(request, context.switchToHttp().getResponse<Response>());
      throw error;
    }
    return true;
  }
}
