import { createHash, hkdfSync } from 'node:crypto';

/** What is derived from one SECRET_KEY: a key for each purpose (HKDF-SHA-256, RFC 5869). */
export class DerivedKeys {
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
    this.id = createHash('sha256').update(derive('key id')).digest('hex').slice(0, 8);
  }
}
