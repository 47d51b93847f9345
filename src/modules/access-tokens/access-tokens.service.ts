import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { jwtVerify, SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { isResourceId } from '../../platform/http/input/resource-id.js';
import { SecretsService } from '../../platform/secrets/secrets.service.js';
import { type AccessTokenGrant, findGrant, removeOldVoids, voidTokens } from './access-tokens.queries.js';

const ISSUER = 'voice-note-transcription';
const AUDIENCE = 'upload';
/** In place of the hash of a user. */
const ALL_USERS = '';

export type { AccessTokenGrant };

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
export interface TokenIssuer {
  accountId: string;
  keyId: string | null;
  keyExpiresAt: Date | null;
  /** The account's credential version. */
  version: number;
}

export interface IssuedToken {
  id: string;
  token: string;
  expiresAt: Date;
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
    });
  }
}

/** May be the name or the address of a person: the hash is all that is stored of it here. */
const hashOf = (userId: string): string => createHash('sha256').update(userId).digest('hex');
