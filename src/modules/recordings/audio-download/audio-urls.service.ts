import { Injectable } from '@nestjs/common';
import { jwtVerify, SignJWT } from 'jose';
import { SecretsService } from '../../../platform/secrets.service.js';

const ISSUER = 'voice-note-transcription';
const AUDIENCE = 'audio';
/** Seconds that a URL is valid (D41). */
const LIFETIME = 300;

/** What a URL gives access to, and which key made it. */
export interface AudioGrant {
  accountId: string;
  recordingId: string;
  keyId: string;
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
  async sign({ accountId, recordingId, keyId }: AudioGrant, keyExpiresAt: Date | null): Promise<SignedAudio> {
    const now = Math.floor(Date.now() / 1000);
    const keySeconds = Math.floor((keyExpiresAt?.getTime() ?? Infinity) / 1000);
    const expiresAt = new Date(Math.min(now + LIFETIME, keySeconds) * 1000);
    const token = await new SignJWT({ recording: recordingId, key: keyId })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: this.secrets.keyId })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(accountId)
      .setExpirationTime(expiresAt)
      .sign(this.secrets.audioUrlKey);
    return { token, expiresAt };
  }

  /** Null for a token that is not ours, not meant for this, changed, or expired. */
  async verify(token: string): Promise<AudioGrant | null> {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => this.secrets.audioUrlKeyOf(kid), {
        algorithms: ['HS256'],
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ['sub', 'exp'],
      });
      const { sub, recording, key } = payload;
      if (sub === undefined || typeof recording !== 'string' || typeof key !== 'string') return null;
      return { accountId: sub, recordingId: recording, keyId: key };
    } catch {
      return null;
    }
  }
}
