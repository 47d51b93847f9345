import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { AccessTokensService } from '../modules/access-tokens/access-tokens.service.js';
import { AccountService } from '../modules/account/account.service.js';
import { ApiKeysService } from '../modules/api-keys/api-keys.service.js';
import type { Principal } from '../platform/access/principal.js';

/** Finds out who is asking, from the key pair, from an end user's access token, or from both (D14, D15). */
@Injectable()
export class Authenticator {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly accounts: AccountService,
  ) {}

  /** Null for whatever is missing, malformed, unknown, expired, revoked, or of two different accounts. */
  async authenticate(headers: IncomingHttpHeaders): Promise<Principal | null> {
    const bearer = bearerToken(headers);
    const token = bearer === null ? null : await this.accessTokens.verify(bearer);
    if (bearer !== null && token === null) return null;
    const apiKey = headers['x-service-api-key'];
    const secret = headers['x-service-api-secret'];
    if (apiKey === undefined && secret === undefined) {
      return token && this.principal(token.accountId, 'access_token', [], token.identity);
    }
    if (typeof apiKey !== 'string' || typeof secret !== 'string') return null;
    const key = await this.apiKeys.authenticate(apiKey, secret);
    if (key === null || (token !== null && token.accountId !== key.accountId)) return null;
    const principal = await this.principal(key.accountId, 'api_key', key.scopes, token?.identity ?? null);
    if (principal) this.apiKeys.countUse(key.id);
    return principal;
  }

  private async principal(
    accountId: string,
    credential: Principal['credential'],
    scopes: Principal['scopes'],
    identity: string | null,
  ): Promise<Principal | null> {
    const standing = await this.accounts.standing(accountId);
    return standing && { accountId, ...standing, credential, scopes, identity };
  }
}

/** Other schemes than Bearer are none of ours: a proxy's Basic credentials may pass through. */
function bearerToken({ authorization }: IncomingHttpHeaders): string | null {
  const [, token] = /^bearer(?: +(.*))?$/i.exec(authorization ?? '') ?? [];
  return token ?? (/^bearer *$/i.test(authorization ?? '') ? '' : null);
}
