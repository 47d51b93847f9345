import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Principal } from '../../access/principal.js';
import {
  type AccessTokenGrant,
  AccessTokensService,
  type EndUser,
} from '../../modules/access-tokens/access-tokens.service.js';
import { AccountService } from '../../modules/account/account.service.js';
import { ApiKeysService, type ApiKeyCredential } from '../../modules/api-keys/api-keys.service.js';
import { ServiceUnavailableError } from '../../platform/errors/errors.js';
import { CredentialCache } from './credential-cache.js';
import { readCredentials, type SentKeyPair } from './sent-credentials.js';

/** A second read is needed only when credentials change at that very moment. */
const MAX_FRESH_READS = 3;

/** The credentials of one request. */
interface RequestCredentials {
  keyPair: SentKeyPair | null;
  /** The one that a valid access token names. */
  endUser: EndUser | null;
}

/** What the credentials stand for. `principal.version` is the credential version at which that was read. */
interface AuthenticatedCaller {
  principal: Principal;
  apiKey: ApiKeyCredential | null;
}

/** Finds the principal of a request from its key pair, its access token, or both (D14, D15). */
@Injectable()
export class AuthenticatorService {
  private readonly keyCache = new CredentialCache((key, options) => this.apiKeys.findCredential(key, options));
  private readonly grantCache = new CredentialCache((grantId) => this.accessTokens.findGrant(grantId));
  private readonly accountCache = new CredentialCache((accountId) => this.accounts.findAccess(accountId));

  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly accounts: AccountService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /**
   * @returns null for credentials that are missing, malformed, unknown, expired, revoked, or of two accounts.
   * @throws when Postgres cannot be reached.
   */
  async authenticate(headers: IncomingHttpHeaders): Promise<Principal | null> {
    const sent = await this.read(headers);
    if (!sent) return null;
    for (let freshReads = 0; freshReads <= MAX_FRESH_READS; freshReads++) {
      const fresh = freshReads > 0;
      const asOf = fresh ? await this.versions.readTime() : null;
      const caller = await this.identify(sent, fresh);
      if (!caller) return null;
      const { principal, apiKey } = caller;
      const { accountId, version } = principal;
      const current = fresh
        ? await this.versions.confirm(accountId, version, asOf)
        : await this.versions.isCurrent(accountId, version);
      if (!current) continue;
      if (apiKey) this.apiKeys.countUse(apiKey.id);
      return principal;
    }
    throw new ServiceUnavailableError(1);
  }

  private async read(headers: IncomingHttpHeaders): Promise<RequestCredentials | null> {
    const sent = readCredentials(headers);
    if (!sent) return null;
    const { keyPair, token } = sent;
    const endUser = token === null ? null : await this.accessTokens.verify(token);
    if (token !== null && !endUser) return null;
    return keyPair || endUser ? { keyPair, endUser } : null;
  }

  private async identify(
    { keyPair, endUser }: RequestCredentials,
    fresh: boolean,
  ): Promise<AuthenticatedCaller | null> {
    const apiKey = keyPair && (await this.findKey(keyPair.key, keyPair.secret, fresh));
    const accountId = keyPair ? apiKey?.accountId : endUser?.accountId;
    if (accountId === undefined || (endUser && endUser.accountId !== accountId)) return null;
    const grant = endUser && (await this.findGrant(endUser, fresh));
    const access = endUser && !grant ? null : await this.accountCache.get(accountId, fresh);
    if (!access) return null;
    const { suspended, limit, quotas } = access;
    return {
      principal: {
        accountId,
        suspended,
        limit,
        quotas,
        credential: apiKey ? 'api_key' : 'access_token',
        keyId: apiKey ? apiKey.id : (endUser?.keyId ?? null),
        keyExpiresAt: (apiKey ?? grant)?.expiresAt ?? null,
        tokenId: endUser?.tokenId ?? null,
        // Several reads at different versions count as made at the oldest one.
        version: Math.min(...[access, apiKey, grant].map((read) => read?.version ?? Infinity)),
        scopes: apiKey?.scopes ?? [],
        userId: endUser?.userId ?? null,
      },
      apiKey,
    };
  }

  /** Null for a token that was voided, or whose key is revoked: that is final, so it needs no fresh read. */
  private async findGrant(endUser: EndUser, fresh: boolean): Promise<AccessTokenGrant | null> {
    const grant = await this.grantCache.get(this.accessTokens.grantIdOf(endUser), fresh);
    return grant && this.accessTokens.isGranted(endUser, grant) ? grant : null;
  }

  private async findKey(key: string, secret: string, fresh: boolean): Promise<ApiKeyCredential | null> {
    if (!this.apiKeys.isWellFormed(key, secret)) return null;
    const credential = await this.keyCache.get(key, fresh);
    return credential && this.apiKeys.verifySecret(credential, secret) ? credential : null;
  }
}
