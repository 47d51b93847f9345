import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CredentialVersionsService } from '../access/credential-versions.service.js';
import type { Principal } from '../access/principal.js';
import { sessionTokenOf } from '../access/session-cookie.js';
import {
  type AccessTokenGrant,
  AccessTokensService,
  type EndUser,
} from '../modules/access-tokens/access-tokens.service.js';
import { AccountService } from '../modules/account/account.service.js';
import { type ApiKeyCredential, ApiKeyCredentialsService } from '../modules/api-keys/api-key-credentials.service.js';
import { type SessionCredential, SessionCredentialsService } from '../modules/people/session-credentials.service.js';
import {
  type IssuedUser,
  IssuedTokensService,
  type SentToken,
} from '../modules/token-issuers/issued-tokens.service.js';
import { ServiceUnavailableError } from '../platform/errors/errors.js';

/** A second read is needed only when credentials change at that very moment. */
const MAX_FRESH_READS = 3;

/** The credentials of one request. */
interface RequestCredentials {
  keyPair: SentKeyPair | null;
  /** The one that a valid access token names. */
  endUser: EndUser | null;
  /** A token that one of the account's own issuers may have signed; nothing of it has been checked. */
  sentToken: SentToken | null;
  /** Of the cookie, by which a session may be found. Read only without other credentials. */
  sessionHash: string | null;
}

/** What the credentials stand for. `principal.version` is the credential version at which that was read. */
interface AuthenticatedCaller {
  principal: Principal;
  apiKey: ApiKeyCredential | null;
  session: SessionCredential | null;
}

/** Finds the principal of a request from its key pair, its access token, or both (D14, D15), or from its session (D97). */
@Injectable()
export class AuthenticatorService {
  private readonly keyCache = new CredentialCache((key, options) => this.apiKeys.findCredential(key, options));
  private readonly grantCache = new CredentialCache((grantId) => this.accessTokens.findGrant(grantId));
  private readonly issuersCache = new CredentialCache((accountId) => this.issuedTokens.findIssuers(accountId));
  private readonly sessionCache = new CredentialCache((hash, options) => this.sessions.find(hash, options));
  private readonly accountCache = new CredentialCache((accountId) => this.accounts.findAccess(accountId));

  constructor(
    private readonly apiKeys: ApiKeyCredentialsService,
    private readonly accessTokens: AccessTokensService,
    private readonly issuedTokens: IssuedTokensService,
    private readonly sessions: SessionCredentialsService,
    private readonly accounts: AccountService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /**
   * @param address of the client, as `TRUST_PROXY` tells it; undefined when the connection is gone.
   * @returns null for credentials that are missing, malformed, unknown, expired, revoked, or of two accounts.
   * @throws when Postgres cannot be reached.
   */
  async authenticate(headers: IncomingHttpHeaders, address: string | undefined): Promise<Principal | null> {
    const caller = await this.currentCaller(headers, address);
    if (caller?.apiKey && caller.principal.refusedAddress === null) this.apiKeys.countUse(caller.apiKey.id);
    if (caller?.session) this.sessions.countUse(caller.session);
    return caller && caller.principal;
  }

  /** As `authenticate`, for a connection that stays: it is no further use of the key. */
  async authenticateAgain(headers: IncomingHttpHeaders, address: string | undefined): Promise<Principal | null> {
    const caller = await this.currentCaller(headers, address);
    return caller && caller.principal;
  }

  private async currentCaller(
    headers: IncomingHttpHeaders,
    address: string | undefined,
  ): Promise<AuthenticatedCaller | null> {
    const sent = await this.read(headers);
    if (!sent) return null;
    for (let freshReads = 0; freshReads <= MAX_FRESH_READS; freshReads++) {
      const fresh = freshReads > 0;
      const asOf = fresh ? await this.versions.readTime() : null;
      const caller = await this.identify(sent, fresh, address);
      if (!caller) return null;
      const { accountId, version } = caller.principal;
      const current = fresh
        ? await this.versions.confirm(accountId, version, asOf)
        : await this.versions.isCurrent(accountId, version);
      if (current) return caller;
    }
    throw new ServiceUnavailableError(1);
  }

  private async read(headers: IncomingHttpHeaders): Promise<RequestCredentials | null> {
    const sent = readCredentials(headers);
    if (!sent) return null;
    const { keyPair, token } = sent;
    const endUser = token === null ? null : await this.accessTokens.verify(token);
    const sentToken = token === null || endUser ? null : this.issuedTokens.read(token);
    if (token !== null && !endUser && !sentToken) return null;
    if (keyPair || token !== null) return { keyPair, endUser, sentToken, sessionHash: null };
    const session = sessionTokenOf(headers);
    const sessionHash = session === null ? null : this.sessions.hashOf(session);
    return sessionHash === null ? null : { keyPair, endUser, sentToken, sessionHash };
  }

  private async identify(
    { keyPair, endUser, sentToken, sessionHash }: RequestCredentials,
    fresh: boolean,
    address: string | undefined,
  ): Promise<AuthenticatedCaller | null> {
    const apiKey = keyPair && (await this.findKey(keyPair.key, keyPair.secret, fresh));
    const session = sessionHash === null ? null : await this.sessionCache.get(sessionHash, fresh);
    const token = endUser ?? sentToken;
    const accountId = keyPair ? apiKey?.accountId : (token ?? session)?.accountId;
    if (accountId === undefined || (token && token.accountId !== accountId)) return null;
    const grant = endUser && (await this.findGrant(endUser, fresh));
    const issued = sentToken && (await this.findIssuedUser(sentToken, fresh));
    const access = token && !grant && !issued ? null : await this.accountCache.get(accountId, fresh);
    if (!access) return null;
    const { suspended, isTest, recordsReads, limit, quotas } = access;
    return {
      principal: {
        accountId,
        suspended,
        isTest,
        recordsReads,
        limit,
        quotas,
        credential: apiKey ? 'api_key' : session ? 'session' : 'access_token',
        keyId: apiKey ? apiKey.id : (endUser?.keyId ?? null),
        keyExpiresAt: (apiKey ?? grant)?.expiresAt ?? null,
        refusedAddress: apiKey ? this.apiKeys.refusedAddress(apiKey, address) : null,
        tokenId: endUser?.tokenId ?? null,
        sessionId: session?.id ?? null,
        personId: session?.personId ?? null,
        // Several reads at different versions count as made at the oldest one.
        version: Math.min(...[access, apiKey, grant, issued, session].map((read) => read?.version ?? Infinity)),
        scopes: (apiKey ?? session)?.scopes ?? [],
        userId: (endUser ?? issued)?.userId ?? null,
        endUserRights: issued?.rights ?? [],
      },
      apiKey,
      session,
    };
  }

  /** Null for a token that was voided, or whose key is revoked: that is final, so it needs no fresh read. */
  private async findGrant(endUser: EndUser, fresh: boolean): Promise<AccessTokenGrant | null> {
    const grant = await this.grantCache.get(this.accessTokens.grantIdOf(endUser), fresh);
    return grant && this.accessTokens.isGranted(endUser, grant) ? grant : null;
  }

  /** Null for a token that no issuer of its account has signed. The issuers are read again if that may have changed. */
  private async findIssuedUser(sent: SentToken, fresh: boolean): Promise<(IssuedUser & Versioned) | null> {
    const { accountId } = sent;
    const found = await this.issuersCache.get(accountId, fresh);
    const user = found && (await this.issuedTokens.verify(sent, found));
    if (user) return { ...user, version: found.version };
    if (!found || fresh || (await this.versions.isCurrent(accountId, found.version))) return null;
    return await this.findIssuedUser(sent, true);
  }

  private async findKey(key: string, secret: string, fresh: boolean): Promise<ApiKeyCredential | null> {
    if (!this.apiKeys.isWellFormed(key, secret)) return null;
    const credential = await this.keyCache.get(key, fresh);
    return credential && this.apiKeys.verifySecret(credential, secret) ? credential : null;
  }
}

/** The two halves of an API key, as sent. */
interface SentKeyPair {
  key: string;
  secret: string;
}

/** What a request sends to identify its caller; nothing of it has been checked. */
interface SentCredentials {
  keyPair: SentKeyPair | null;
  /** From `Authorization: Bearer`, unless that holds a key pair. Empty for a scheme without a token. */
  token: string | null;
}

/** A client that knows one API key only, such as OpenAI's, sends both halves in one text. */
const KEY_PAIR = /^(vnk_[^.]*)\.(vns_.*)$/;

/**
 * The pair comes in its two headers or as `Authorization: Bearer key.secret` (D45); in both it must be the same.
 * @returns null for half a pair, or two of them.
 */
export function readCredentials(headers: IncomingHttpHeaders): SentCredentials | null {
  const { 'x-service-api-key': key, 'x-service-api-secret': secret } = headers;
  const bearer = bearerToken(headers) ?? subprotocolToken(headers);
  const keyPair = bearer === null ? null : keyPairOf(bearer);
  const token = keyPair ? null : bearer;
  if (key === undefined && secret === undefined) return { keyPair, token };
  if (typeof key !== 'string' || typeof secret !== 'string') return null;
  return keyPair && (keyPair.key !== key || keyPair.secret !== secret) ? null : { keyPair: { key, secret }, token };
}

function keyPairOf(bearer: string): SentKeyPair | null {
  const [, key, secret] = KEY_PAIR.exec(bearer) ?? [];
  return key === undefined || secret === undefined ? null : { key, secret };
}

/** Other schemes than Bearer are ignored: a proxy's Basic credentials may pass through. */
function bearerToken({ authorization }: IncomingHttpHeaders): string | null {
  const [scheme] = /^bearer(?:$| +)/i.exec(authorization ?? '') ?? [];
  return scheme === undefined || authorization === undefined ? null : authorization.slice(scheme.length);
}

const SUBPROTOCOL_PREFIX = 'openai-insecure-api-key.';

/** A page cannot set headers of a WebSocket, so that clients of OpenAI send the token as one of its subprotocols (D90). */
function subprotocolToken({ 'sec-websocket-protocol': list }: IncomingHttpHeaders): string | null {
  const offered = list?.split(',').map((name) => name.trim());
  const found = offered?.find((name) => name.startsWith(SUBPROTOCOL_PREFIX));
  return found === undefined ? null : found.slice(SUBPROTOCOL_PREFIX.length);
}

/** A value that was read from Postgres, and the account's credential version at that moment. */
export interface Versioned {
  version: number;
  /** When the value stops being valid by itself. */
  expiresAt?: Date | null;
}

const MAX_ENTRIES = 10_000;
/**
 * Concurrent requests share one read, but only a recent one: `CredentialVersionsService` adds this to the age of a value
 * that it takes for current.
 */
const SHARED_READ_MS = 500;

/**
 * Keeps what Postgres said about API keys and accounts in the memory of this process. A cached value may be out of date:
 * `AuthenticatorService` uses it only after its version was confirmed.
 * A request for one recording needs one SQL statement instead of three; each of the two others takes 120 µs CPU
 * (docs/performance.md). Held by credential-cache.e2e.ts.
 */
export class CredentialCache<Value extends Versioned> {
  private readonly values = new LRUCache<string, Value>({ max: MAX_ENTRIES });
  private readonly reads = new Map<string, { startedAt: number; value: Promise<Value | null> }>();

  /** @param read returns null for an unknown id; that is not cached. `isKnown`: it was valid when last read. */
  constructor(private readonly read: (id: string, options: { isKnown: boolean }) => Promise<Value | null>) {}

  /** The cached value, or the one in Postgres. @param fresh skips the cache. */
  async get(id: string, fresh: boolean): Promise<Value | null> {
    const cached = fresh ? undefined : this.values.get(id);
    return cached ?? (await this.refresh(id));
  }

  private async refresh(id: string): Promise<Value | null> {
    const current = this.reads.get(id);
    if (current && Date.now() - current.startedAt < SHARED_READ_MS) return await current.value;
    const read = { startedAt: Date.now(), value: this.read(id, { isKnown: this.values.has(id) }) };
    this.reads.set(id, read);
    try {
      const value = await read.value;
      this.store(id, value);
      return value;
    } finally {
      if (this.reads.get(id) === read) this.reads.delete(id);
    }
  }

  private store(id: string, value: Value | null): void {
    if (!value) {
      this.values.delete(id);
      return;
    }
    const cached = this.values.peek(id);
    // A slow read must not replace the result of a later one.
    if (cached && cached.version > value.version) return;
    const ttl = value.expiresAt ? value.expiresAt.getTime() - Date.now() : undefined;
    if (ttl === undefined || ttl > 0) this.values.set(id, value, { ttl });
    else this.values.delete(id);
  }
}
