import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { jwtVerify, SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { SecretsService } from '../../platform/secrets.service.js';

const ISSUER = 'voice-note-transcription';
const AUDIENCE = 'upload';
/** In place of the hash of a user. */
const ALL_USERS = '';
/** Longer than any token lives (D15). */
const KEPT_HOURS = 25;
/** Rows deleted with each change. */
const BATCH = 100;

/** The end user of an access token. A token of an earlier release names neither itself nor its key. */
export interface EndUser {
  accountId: string;
  /** The claim `identity`. */
  userId: string;
  tokenId: string | null;
  /** The key that issued it. */
  keyId: string | null;
  /** The account's credential version at which it was issued. */
  version: number;
}

/** Which key issues a token, and when. */
interface TokenIssuer {
  accountId: string;
  keyId: string | null;
  keyExpiresAt: Date | null;
  /** The account's credential version. */
  version: number;
}

interface IssuedToken {
  id: string;
  token: string;
  expiresAt: Date;
}

/** What an access token depends on, beside its signature: the key that issued it, and what was voided since. */
export interface AccessTokenGrant {
  /** `accounts.credential_version` when this was read. */
  version: number;
  /** Whether the key exists and is not revoked; true where a token names none. */
  keyIsValid: boolean;
  /** When the key expires. */
  expiresAt: Date | null;
  /** Tokens that were issued at an earlier credential version are void. */
  validFrom: number;
}

/** Lets a browser or phone upload for one end user without holding a key pair (D15). */
@Injectable()
export class AccessTokensService {
  constructor(
    private readonly secrets: SecretsService,
    private readonly database: DatabaseService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /** The token expires with its key at the latest (D35). @param lifetime seconds. */
  async create(issuer: TokenIssuer, userId: string, lifetime: number): Promise<IssuedToken> {
    const id = uuidv7();
    const now = Math.floor(Date.now() / 1000);
    const keySeconds = Math.floor((issuer.keyExpiresAt?.getTime() ?? Infinity) / 1000);
    const expiresAt = new Date(Math.min(now + lifetime, keySeconds) * 1000);
    const token = await new SignJWT({ identity: userId, key: issuer.keyId, ver: issuer.version })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: this.secrets.keyId })
      .setJti(id)
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(issuer.accountId)
      .setIssuedAt(now)
      .setExpirationTime(expiresAt)
      .sign(this.secrets.tokenKey);
    return { id, token, expiresAt };
  }

  /**
   * Null for a token that is not ours, not meant for this, changed, or expired. Whether it is still granted is another
   * question: `findGrant`.
   */
  async verify(token: string): Promise<EndUser | null> {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => this.secrets.tokenKeyOf(kid), {
        algorithms: ['HS256'],
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ['sub', 'exp'],
      });
      const { sub, identity, jti, key, ver } = payload;
      if (sub === undefined || typeof identity !== 'string') return null;
      const [keyId, version] = [typeof key === 'string' ? key : null, typeof ver === 'number' ? ver : 0];
      return { accountId: sub, userId: identity, tokenId: jti ?? null, keyId, version };
    } catch {
      return null;
    }
  }

  /** Identifies what `findGrant` reads, for caches. */
  grantIdOf({ accountId, keyId, userId }: EndUser): string {
    return [accountId, keyId ?? '', hashOf(userId)].join('/');
  }

  /** Null when there is no such account. */
  async findGrant(grantId: string): Promise<AccessTokenGrant | null> {
    const [accountId = '', keyId = '', identityHash = ''] = grantId.split('/');
    if (!isResourceId(accountId)) return null;
    return await findGrant(this.database, { accountId, keyId: keyId || null, identityHash });
  }

  /** Whether the key that issued the token is still valid, and the token was not voided (D35). */
  isGranted({ version }: EndUser, { keyIsValid, expiresAt, validFrom }: AccessTokenGrant): boolean {
    return keyIsValid && version >= validFrom && (expiresAt === null || expiresAt.getTime() > Date.now());
  }

  /**
   * Voids every token that was issued before, in every process at once. One that is issued next has a higher credential
   * version, in the same second too.
   * @param userId of one end user; of all when undefined.
   */
  async void(accountId: string, userId: string | undefined): Promise<void> {
    await this.versions.change(accountId, async (tx) => {
      await voidTokens(tx, accountId, userId === undefined ? ALL_USERS : hashOf(userId));
      await removeOldVoids(tx, accountId);
      await recordChanges(tx, {
        accountId,
        action: 'access_tokens.voided',
        targets: [auditTarget('account', accountId)],
        after: { of: userId === undefined ? 'all end users' : 'one end user' },
      });
    });
  }
}

/** SQL, because it is prepared and reads everything in one snapshot: it runs for each end user not cached. */
async function findGrant(
  database: DatabaseService,
  { accountId, keyId, identityHash }: { accountId: string; keyId: string | null; identityHash: string },
): Promise<AccessTokenGrant | null> {
  const [found] = await database.prepared<AccessTokenGrant>(
    `SELECT a.credential_version AS version, $2::uuid IS NULL OR k.id IS NOT NULL AS "keyIsValid",
       k.expires_at AS "expiresAt",
       coalesce((SELECT max(v.valid_from) FROM access_token_voids v
                 WHERE v.account_id = a.id AND v.identity_hash IN ('', $3)), 0) AS "validFrom"
     FROM accounts a LEFT JOIN api_keys k ON k.id = $2::uuid AND k.account_id = a.id AND k.revoked_at IS NULL
     WHERE a.id = $1`,
    [accountId, keyId, identityHash],
  );
  return found ?? null;
}

/**
 * Voids the tokens of an end user, or of all with an empty hash, that were issued before the credential version which
 * this gives the account. SQL, because both tables change in one statement.
 */
async function voidTokens(tx: Tx, accountId: string, identityHash: string): Promise<void> {
  await tx.query(
    `WITH raised AS (
       UPDATE accounts SET credential_version = credential_version + 1 WHERE id = $1 RETURNING credential_version)
     INSERT INTO access_token_voids (account_id, identity_hash, valid_from, voided_at)
     SELECT $1, $2, credential_version, now() FROM raised
     ON CONFLICT (account_id, identity_hash) DO UPDATE
       SET valid_from = excluded.valid_from, voided_at = excluded.voided_at`,
    [accountId, identityHash],
  );
}

/** Removes what no living token depends on. SQL because of LIMIT in a DELETE. */
async function removeOldVoids(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `DELETE FROM access_token_voids WHERE account_id = $1 AND identity_hash IN (
       SELECT identity_hash FROM access_token_voids
       WHERE account_id = $1 AND voided_at < now() - make_interval(hours => ${KEPT_HOURS}) LIMIT ${BATCH})`,
    [accountId],
  );
}

/** May be the name or the address of a person: the hash is all that is stored of it here. */
const hashOf = (userId: string): string => hash('sha256', userId, 'hex');
