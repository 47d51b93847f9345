import { Injectable } from '@nestjs/common';
import { jwtVerify, SignJWT } from 'jose';
import { SecretsService } from '../../platform/secrets/secrets.service.js';

const ISSUER = 'voice-note-transcription';
const AUDIENCE = 'upload';

/** Whom an access token stands for. */
export interface EndUser {
  accountId: string;
  identity: string;
}

/** Lets a browser or phone upload for one end user without holding a key pair (D15). */
@Injectable()
export class AccessTokensService {
  constructor(private readonly secrets: SecretsService) {}

  /** @param lifetime seconds. */
  async create(accountId: string, identity: string, lifetime: number): Promise<{ token: string; expiresAt: Date }> {
    const expiresAt = new Date((Math.floor(Date.now() / 1000) + lifetime) * 1000);
    const token = await new SignJWT({ identity })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: this.secrets.keyId })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(accountId)
      .setIssuedAt()
      .setExpirationTime(expiresAt)
      .sign(this.secrets.tokenKey);
    return { token, expiresAt };
  }

  /** Null for a token that is not ours, not meant for this, changed, or expired. */
  async verify(token: string): Promise<EndUser | null> {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => this.secrets.tokenKeyOf(kid), {
        algorithms: ['HS256'],
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ['sub', 'exp'],
      });
      const { sub, identity } = payload;
      return sub !== undefined && typeof identity === 'string' ? { accountId: sub, identity } : null;
    } catch {
      return null;
    }
  }
}
