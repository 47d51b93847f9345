import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import type { Principal } from '../access/principal.js';
import { setCaller } from '../platform/observability/request-log.middleware.js';
import { AccessRulesService } from './access-rules.service.js';
import { AddressLimitService } from './address-limit.service.js';
import { isApiRequest } from '../platform/http/server/api-path.js';
import { AuthenticatorService } from './authentication/authenticator.service.js';
import { RefusedCredentialsService } from './refusals/refused-credentials.service.js';

const SCOPES_HEADER = 'X-Service-Scopes';

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
    private readonly refused: RefusedCredentialsService,
  ) {}

  /** @throws ServiceUnavailableError when the credentials cannot be checked. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    if (!isApiRequest(request)) return true;
    try {
      const principal = await this.authenticator.authenticate(request.headers);
      if (principal) identify(request, response, principal);
      else this.refused.count(request.headers, request.ip);
    } catch (error) {
      if (this.rules.of(context).scope === null) return true;
      await this.addressLimit.showHeaders(request, response);
      throw error;
    }
    return true;
  }
}

function identify(request: IdentifiedRequest, response: Response, principal: Principal): void {
  request.principal = principal;
  const { accountId, keyId, tokenId, credential, scopes } = principal;
  // What a key may do, also for clients that may not read the list of keys (D68).
  if (credential === 'api_key') response.setHeader(SCOPES_HEADER, scopes.join(', '));
  setCaller(request, { account_id: accountId, key_id: keyId ?? undefined, token_id: tokenId ?? undefined });
}
