import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createHash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Env } from '../config/env.js';

const GCM_IV_BYTES = 12;

/**
 * Everything that needs SECRET_KEY: one key for each purpose is derived from it once (HKDF-SHA-256, RFC 5869).
 * Each hash and ciphertext begins with the id of its key, so that the key can be rotated later.
 */
@Injectable()
export class Secrets {
  /** Key for signing access tokens. */
  readonly tokenKey: Buffer;
  /** Identifies SECRET_KEY without giving it away. */
  readonly keyId: string;
  private readonly hashKey: Buffer;
  private readonly encryptionKey: Buffer;

  constructor(env: Env) {
    const derive = (purpose: string): Buffer =>
      Buffer.from(hkdfSync('sha256', env.secretKey, 'voice-note-transcription', purpose, 32));
    this.tokenKey = derive('access tokens');
    this.hashKey = derive('api key secrets');
    this.encryptionKey = derive('webhook secrets');
    this.keyId = createHash('sha256').update(derive('key id')).digest('hex').slice(0, 8);
  }

  /** A keyed hash (HMAC-SHA-256): useless to whoever has the database but not SECRET_KEY. */
  hash(secret: string): string {
    return `${this.keyId}.${this.hmac(secret).toString('base64url')}`;
  }

  /** Compares in constant time. */
  matches(secret: string, hash: string): boolean {
    const stored = Buffer.from(hash.split('.')[1] ?? '', 'base64url');
    const given = this.hmac(secret);
    return stored.length === given.length && timingSafeEqual(stored, given);
  }

  /** AES-256-GCM; `context` (an id) binds the text to its row, so that ciphertexts cannot be swapped. */
  encrypt(plain: string, context: string): string {
    const iv = randomBytes(GCM_IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.encryptionKey, iv).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return [this.keyId, ...[iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))].join('.');
  }

  /** @throws Error when the text was made under another key, for another context, or was changed. */
  decrypt(text: string, context: string): string {
    const [keyId, ...parts] = text.split('.');
    const [iv, tag, sealed] = parts.map((part) => Buffer.from(part, 'base64url'));
    if (keyId !== this.keyId || !iv || !tag || !sealed) throw new Error('encrypted under another SECRET_KEY');
    const decipher = createDecipheriv('aes-256-gcm', this.encryptionKey, iv).setAAD(Buffer.from(context));
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8');
  }

  private hmac(secret: string): Buffer {
    return createHmac('sha256', this.hashKey).update(secret).digest();
  }
}
