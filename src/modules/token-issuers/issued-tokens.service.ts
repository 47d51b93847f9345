import { Injectable } from '@nestjs/common';
import { createLocalJWKSet, decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose';
import type { EndUserRight } from '../../access/principal.js';
import { coalesce } from '../../platform/concurrency/coalesce.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { textOf } from '../../platform/http/input/rules.js';
import { KeySetsService } from './key-sets.service.js';
import { ALGORITHMS } from './public-keys.js';
import type { TokenIssuer } from './token-issuer.entity.js';

const MAX_TOKEN_CHARACTERS = 4096;
const SKEW_SECONDS = 60;
/** Accounts looked up by one statement, and the pause between two: the names in tokens may be anybody's guesses. */
const MAX_ACCOUNTS = 500;
const ACCOUNTS_PAUSE_MS = 10;

const userIdProblem = textOf(1, 255);

/** A token of another issuer, as it was sent: nothing of it has been checked. */
export interface SentToken {
  token: string;
  /** The account whose id is its audience. */
  accountId: string;
  issuer: string;
}

/** The end user of a valid token. */
export interface IssuedUser {
  userId: string;
  rights: readonly EndUserRight[];
}

type Issuer = Pick<TokenIssuer, 'issuer' | 'jwksUrl' | 'keys' | 'allows'>;

/** The issuers of one account. */
export interface AccountIssuers {
  /** `accounts.credential_version` when this was read. */
  version: number;
  issuers: Issuer[];
}

/** Verifies tokens that customers' own issuers have signed (D94). */
@Injectable()
export class IssuedTokensService {
  /** Null for an unknown account. */
  readonly findIssuers: (accountId: string) => Promise<AccountIssuers | null>;

  constructor(
    database: DatabaseService,
    private readonly keySets: KeySetsService,
  ) {
    this.findIssuers = coalesce((accountIds: readonly string[]) => selectIssuers(database, accountIds), {
      maxItems: MAX_ACCOUNTS,
      pauseMs: ACCOUNTS_PAUSE_MS,
    });
  }

  /** Null for what is no such token, or names no account or several. */
  read(token: string): SentToken | null {
    if (token.length > MAX_TOKEN_CHARACTERS) return null;
    const { iss, aud } = claimsOf(token) ?? {};
    const accountIds = [aud ?? []].flat().filter((audience) => typeof audience === 'string' && isResourceId(audience));
    const [accountId] = accountIds;
    if (accountId === undefined || accountIds.length > 1 || typeof iss !== 'string') return null;
    return { token, accountId, issuer: iss };
  }

  /** Null for a token that none of the issuers of its account has signed, or that is not valid now. */
  async verify(sent: SentToken, { issuers }: AccountIssuers): Promise<IssuedUser | null> {
    for (const issuer of issuers.filter((known) => known.issuer === sent.issuer)) {
      const claims = await this.check(sent, issuer);
      if (claims) return userOf(claims, issuer);
    }
    return null;
  }

  private async check(sent: SentToken, { jwksUrl, keys }: Issuer): Promise<JWTPayload | null> {
    if (keys) return (await verified(sent, createLocalJWKSet({ keys }))).claims;
    if (jwksUrl === null) return null;
    const set = await this.keySets.get(jwksUrl);
    const first = set && (await verified(sent, set));
    if (!first?.isKeyUnknown) return first && first.claims;
    const renewed = await this.keySets.renew(jwksUrl);
    return renewed && (await verified(sent, renewed)).claims;
  }
}

function claimsOf(token: string): JWTPayload | null {
  try {
    return decodeJwt(token);
  } catch {
    return null;
  }
}

interface Verification {
  /** Null when something is wrong. */
  claims: JWTPayload | null;
  /** The issuer may have a new key. */
  isKeyUnknown: boolean;
}

/** The key comes from the set alone: `jwk`, `jku` and `x5u` of the header are not looked at. */
async function verified({ token, accountId, issuer }: SentToken, keys: JWTVerifyGetKey): Promise<Verification> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: ALGORITHMS,
      issuer,
      audience: accountId,
      clockTolerance: SKEW_SECONDS,
      requiredClaims: ['sub', 'exp'],
    });
    return { claims: payload, isKeyUnknown: false };
  } catch (error) {
    return { claims: null, isKeyUnknown: error instanceof errors.JWKSNoMatchingKey };
  }
}

/** The rules of `identity` in an access token hold for `sub`, too. */
function userOf({ sub, iat }: JWTPayload, { allows }: Issuer): IssuedUser | null {
  const isFromTheFuture = iat !== undefined && !(iat <= Date.now() / 1000 + SKEW_SECONDS);
  if (sub === undefined || isFromTheFuture || userIdProblem(sub) !== null) return null;
  return { userId: sub, rights: allows };
}

/** In the order of the ids. SQL, because it is prepared and reads the version of the account in the same snapshot. */
async function selectIssuers(
  database: DatabaseService,
  accountIds: readonly string[],
): Promise<(AccountIssuers | null)[]> {
  const rows = await database.prepared<AccountIssuers & { id: string }>(
    `SELECT a.id, a.credential_version AS version, coalesce((
       SELECT jsonb_agg(jsonb_build_object('issuer', i.issuer, 'jwksUrl', i.jwks_url, 'keys', i.keys, 'allows', i.allows)
                        ORDER BY i.created_at, i.id)
       FROM token_issuers i WHERE i.account_id = a.id), '[]') AS issuers
     FROM accounts a WHERE a.id = ANY ($1::uuid[])`,
    [accountIds],
  );
  const byId = new Map(rows.map(({ id, ...found }) => [id, found]));
  return accountIds.map((id) => byId.get(id) ?? null);
}
