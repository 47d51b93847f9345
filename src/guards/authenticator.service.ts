import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { AccessTokensService, type EndUser } from '../modules/access-tokens/access-tokens.service.js';
import { AccountService, type AccountAccess } from '../modules/account/account.service.js';
import { ApiKeysService, type Credential } from '../modules/api-keys/api-keys.service.js';
import type { Principal } from '../access/principal.js';

/** Who is asking, as of an epoch of the account. */
export interface Identified {
  principal: Principal;
  epoch: number;
  /** Null for an access token. */
  keyId: string | null;
}

/** Finds out who is asking, from the key pair, from an end user's access token, or from both (D14, D15). */
@Injectable()
export class AuthenticatorService {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly accounts: AccountService,
  ) {}

  /** As `authenticate`, for a key pair alone, from memory and at once. Null also where something has to be asked. */
  recall(headers: IncomingHttpHeaders): Identified | null {
    const { authorization, 'x-service-api-key': apiKey, 'x-service-api-secret': secret } = headers;
    if (authorization !== undefined || typeof apiKey !== 'string' || typeof secret !== 'string') return null;
    const key = this.apiKeys.recall(apiKey, secret);
    const account = key && this.accounts.peekAccess(key.accountId);
    return account && byKey(key, account, null);
  }

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
      const account = token && (await this.accounts.standing(token.accountId, fresh));
      return account && byToken(token, account);
    }
    if (typeof apiKey !== 'string' || typeof secret !== 'string') return null;
    const key = await this.apiKeys.authenticate(apiKey, secret, fresh);
    if (key === null || (token !== null && token.accountId !== key.accountId)) return null;
    const account = await this.accounts.standing(key.accountId, fresh);
    return account && byKey(key, account, token?.identity ?? null);
  }

  /** The request is under way: its key was used. */
  countUse({ keyId }: Identified): void {
    if (keyId) this.apiKeys.countUse(keyId);
  }
}

function byKey(
  { id, accountId, scopes, epoch }: Credential,
  account: AccountAccess,
  identity: string | null,
): Identified {
  const { suspended, limit } = account;
  return {
    principal: { accountId, suspended, limit, credential: 'api_key', scopes, identity },
    // Two reads that were not made at the same epoch count as made at the earlier one.
    epoch: Math.min(epoch, account.epoch),
    keyId: id,
  };
}

function byToken({ accountId, identity }: EndUser, { suspended, limit, epoch }: AccountAccess): Identified {
  return {
    principal: { accountId, suspended, limit, credential: 'access_token', scopes: [], identity },
    epoch,
    keyId: null,
  };
}

/** Other schemes than Bearer are none of ours: a proxy's Basic credentials may pass through. */
function bearerToken({ authorization }: IncomingHttpHeaders): string | null {
  if (authorization === undefined) return null;
  const [, token] = /^bearer(?: +(.*))?$/i.exec(authorization) ?? [];
  return token ?? (/^bearer *$/i.test(authorization) ? '' : null);
}
