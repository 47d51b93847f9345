import { Injectable } from '@nestjs/common';
import { type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { SecretsService } from '../../../platform/secrets.service.js';

const ISSUER = 'voice-note-transcription';
/** Which of the two a token is for: a key's own URL (D41), or the page of a share (D96). */
type Audience = 'audio' | 'shared-audio';
/** Seconds that a URL is valid (D41). */
const LIFETIME = 300;
/** The same of a share, which is looked for at each request. */
const SHARE_LIFETIME = 12 * 3600;

/** Which key or session made a URL. */
type Signer = { keyId: string } | { sessionId: string };

/** What a URL gives access to, and who made it. */
export interface AudioGrant {
  accountId: string;
  recordingId: string;
  signer: Signer;
}

export interface SignedAudio {
  token: string;
  expiresAt: Date;
}

/**
 * Tokens that let a player read the audio of one recording. A JWT, as access tokens are: so that the request log, which
 * leaves out queries, also cuts off one that is put into a path by mistake.
 */
@Injectable()
export class AudioUrlsService {
  constructor(private readonly secrets: SecretsService) {}

  /** It expires with the key at the latest. */
  async sign({ accountId, recordingId, signer }: AudioGrant, keyExpiresAt: Date | null): Promise<SignedAudio> {
    const by = 'keyId' in signer ? { key: signer.keyId } : { session: signer.sessionId };
    const claims = { sub: accountId, recording: recordingId, ...by };
    return await this.signed('audio', claims, endOf(LIFETIME, keyExpiresAt));
  }

  /** It expires with the share at the latest. */
  async signShare(shareId: string, shareExpiresAt: Date | null): Promise<SignedAudio> {
    return await this.signed('shared-audio', { sub: shareId }, endOf(SHARE_LIFETIME, shareExpiresAt));
  }

  /** Null for a token that is not ours, not meant for this, changed, or expired. */
  async verify(token: string): Promise<AudioGrant | null> {
    const { sub, recording, key, session } = (await this.verified('audio', token)) ?? {};
    const signer =
      typeof key === 'string' ? { keyId: key } : typeof session === 'string' ? { sessionId: session } : null;
    if (sub === undefined || typeof recording !== 'string' || signer === null) return null;
    return { accountId: sub, recordingId: recording, signer };
  }

  /** The share that a token is for; null as `verify`. */
  async verifyShare(token: string): Promise<string | null> {
    return (await this.verified('shared-audio', token))?.sub ?? null;
  }

  private async signed(audience: Audience, claims: JWTPayload, expiresAt: Date): Promise<SignedAudio> {
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: this.secrets.keyId })
      .setIssuer(ISSUER)
      .setAudience(audience)
      .setExpirationTime(expiresAt)
      .sign(this.secrets.audioUrlKey);
    return { token, expiresAt };
  }

  private async verified(audience: Audience, token: string): Promise<JWTPayload | null> {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => this.secrets.audioUrlKeyOf(kid), {
        algorithms: ['HS256'],
        issuer: ISSUER,
        audience,
        requiredClaims: ['sub', 'exp'],
      });
      return payload;
    } catch {
      return null;
    }
  }
}

/** In whole seconds, as a token tells it. @param latest null: whenever the lifetime ends */
function endOf(lifetime: number, latest: Date | null): Date {
  const seconds = Math.min(Date.now() / 1000 + lifetime, (latest?.getTime() ?? Infinity) / 1000);
  return new Date(Math.floor(seconds) * 1000);
}
