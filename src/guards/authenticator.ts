import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { AccessTokensService } from '../modules/access-tokens/access-tokens.service.js';
import { AccountService } from '../modules/account/account.service.js';
import { ApiKeysService } from '../modules/api-keys/api-keys.service.js';
import type { Principal } from '../platform/access/principal.js';

/** Who is asking, as of an epoch of the account. */
export interface Identified {
  principal: Principal;
  epoch: number;
  /** Null for an access token. */
  keyId: string | null;
}

/** Finds out who is asking, from the key pair, from an end user's access token, or from both (D14, D15). */
@Injectable()
export class Authenticator {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly accounts: AccountService,
  ) {}

  /**
   * Null for whatever is missing, malformed, unknown, expired, revoked, or of two different accounts.
   * @param fresh asks Postgres, also where the answer is remembered.
   */
  async authenticate(headers: IncomingHttpHeaders, fresh: boolean): Promise<Identified | null> {
    const bearer = bearerToken(headers);
    const token = bearer === null ? null : await this.accessTokens.verify(bearer);
    if (bearer !== null && token === null) return null;
    const apiKey = headers['x-service-api-key'];
    const secret = headers['x-service-api-secret'];
    if (apiKey === undefined && secret === undefined) {
      return token && (await this.ofAccount(token.accountId, 'access_token', [], token.identity, fresh));
    }
    if (typeof apiKey !== 'string' || typeof secret !== 'string') return null;
    const key = await this.apiKeys.authenticate(apiKey, secret, fresh);
    if (key === null || (token !== null && token.accountId !== key.accountId)) return null;
    const found = await this.ofAccount(key.accountId, 'api_key', key.scopes, token?.identity ?? null, fresh);
    // Two reads that were not made at the same epoch count as made at the earlier one.
    return found && { ...found, keyId: key.id, epoch: Math.min(key.epoch, found.epoch) };
  }

  /** The request is under way: its key was used. */
  countUse({ keyId }: Identified): void {
    if (keyId) this.apiKeys.countUse(keyId);
  }

  private async ofAccount(
    accountId: string,
    credential: Principal['credential'],
    scopes: Principal['scopes'],
    identity: string | null,
    fresh: boolean,
  ): Promise<Identified | null> {
    const account = await this.accounts.standing(accountId, fresh);
    if (!account) return null;
    const { suspended, limit, epoch } = account;
    return { principal: { accountId, suspended, limit, credential, scopes, identity }, epoch, keyId: null };
  }
}

/** Other schemes than Bearer are none of ours: a proxy's Basic credentials may pass through. */
function bearerToken({ authorization }: IncomingHttpHeaders): string | null {
  if (authorization === undefined) return null;
  const [, token] = /^bearer(?: +(.*))?$/i.exec(authorization) ?? [];
  return token ?? (/^bearer *$/i.test(authorization) ? '' : null);
}
