import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Env } from './config/env.js';

const GCM_IV_BYTES = 12;
const GCM_TAG_BYTES = 16;

/** Which SECRET_KEY something was made under; null for one that this process has not got. */
type MadeUnder = 'current' | 'previous' | null;

/**
 * Everything that needs SECRET_KEY. Each hash, ciphertext and token names its key, so that what was made under
 * SECRET_KEY_PREVIOUS can still be read; whatever is made is made under SECRET_KEY.
 */
@Injectable()
export class SecretsService {
  private readonly currentKeys: DerivedKeys | null;
  private readonly previous: DerivedKeys | null;

  constructor(@Inject(Env) env: Pick<Env, 'secretKey' | 'secretKeyPrevious'>) {
    this.currentKeys = env.secretKey === null ? null : new DerivedKeys(env.secretKey);
    this.previous = env.secretKeyPrevious === null ? null : new DerivedKeys(env.secretKeyPrevious);
  }

  /** Identifies SECRET_KEY: what hashes and ciphertexts made now begin with, up to the first dot. */
  get keyId(): string {
    return this.current.id;
  }

  get hasPrevious(): boolean {
    return this.previous !== null;
  }

  /** Key for signing access tokens. */
  get tokenKey(): Buffer {
    return this.current.tokens;
  }

  /** Key for verifying an access token that names this key, or none at all. */
  tokenKeyOf(keyId: string | undefined): Buffer {
    return (this.keysOf(keyId) ?? this.current).tokens;
  }

  /** Key for signing URLs of audio. */
  get audioUrlKey(): Buffer {
    return this.current.audioUrls;
  }

  /** Key for verifying a URL of audio that names this key, or none at all. */
  audioUrlKeyOf(keyId: string | undefined): Buffer {
    return (this.keysOf(keyId) ?? this.current).audioUrls;
  }

  /** Tells it of a hash or a ciphertext. */
  madeUnder(text: string): MadeUnder {
    const keys = this.keysOf(text.split('.')[0]);
    if (keys === null) return null;
    return keys === this.current ? 'current' : 'previous';
  }

  /** A keyed hash (HMAC-SHA-256): useless without SECRET_KEY. */
  hash(secret: string): string {
    return `${this.keyId}.${hmac(secret, this.current).toString('base64url')}`;
  }

  /** Compares in constant time. */
  matches(secret: string, sealed: string): boolean {
    const [keyId, text = ''] = sealed.split('.');
    const keys = this.keysOf(keyId);
    if (keys === null) return false;
    const stored = Buffer.from(text, 'base64url');
    const given = hmac(secret, keys);
    return stored.length === given.length && timingSafeEqual(stored, given);
  }

  /**
   * A digest that this process may keep in memory to compare a secret faster than by its keyed hash. It needs no key,
   * because our secrets are 256 random bits and cannot be guessed.
   */
  digestOf(secret: string): Buffer {
    return hash('sha256', secret, 'buffer');
  }

  /** Compares in constant time. */
  matchesDigest(secret: string, digest: Buffer): boolean {
    return timingSafeEqual(this.digestOf(secret), digest);
  }

  /** AES-256-GCM; `context` (an id) binds the text to its row, so that ciphertexts cannot be swapped. */
  encrypt(plain: string, context: string): string {
    const iv = randomBytes(GCM_IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.current.encryption, iv).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return [this.keyId, ...[iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))].join('.');
  }

  /** @throws Error when the text was made under a key that is not here, for another context, or was changed. */
  decrypt(text: string, context: string): string {
    const [keyId, ...parts] = text.split('.');
    const [iv, tag, sealed] = parts.map((part) => Buffer.from(part, 'base64url'));
    const keys = this.keysOf(keyId);
    if (keys === null || !iv || !tag || !sealed) throw new Error('encrypted under another SECRET_KEY');
    const options = { authTagLength: GCM_TAG_BYTES };
    const decipher = createDecipheriv('aes-256-gcm', keys.encryption, iv, options).setAAD(Buffer.from(context));
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8');
  }

  /** A process that only transcribes has none, and serves nothing that needs one (D38). */
  private get current(): DerivedKeys {
    if (this.currentKeys === null)
      throw new Error('This process has no SECRET_KEY, because its only role is transcriber');
    return this.currentKeys;
  }

  private keysOf(keyId: string | undefined): DerivedKeys | null {
    if (keyId === this.current.id) return this.current;
    return keyId === this.previous?.id ? this.previous : null;
  }
}

function hmac(secret: string, keys: DerivedKeys): Buffer {
  return createHmac('sha256', keys.hashes).update(secret).digest();
}

/** What is derived from one SECRET_KEY: a key for each purpose (HKDF-SHA-256, RFC 5869). */
class DerivedKeys {
  /** Identifies the SECRET_KEY without giving it away. */
  readonly id: string;
  readonly tokens: Buffer;
  readonly audioUrls: Buffer;
  readonly hashes: Buffer;
  readonly encryption: Buffer;

  constructor(secretKey: string) {
    const derive = (purpose: string): Buffer =>
      Buffer.from(hkdfSync('sha256', secretKey, 'voice-note-transcription', purpose, 32));
    this.tokens = derive('access tokens');
    this.audioUrls = derive('audio urls');
    this.hashes = derive('api key secrets');
    this.encryption = derive('webhook secrets');
    this.id = hash('sha256', derive('key id'), 'hex').slice(0, 8);
  }
}

/** The beginnings of our secrets, sign-in codes and access tokens, with all that follows: base64 has slashes. */
const SECRET = /(vns_|vnc_|whsec_|eyJ).*$/s;

/** A text for logs or tables, without a secret that a client put into it by mistake. */
export const redactSecrets = (text: string): string => text.replace(SECRET, '$1…');
