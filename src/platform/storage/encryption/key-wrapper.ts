import type { Env } from '../../config/env.js';
import { SecretsService } from '../../secrets.service.js';

/** What encrypts the keys of accounts: a key of the operator, or a service for keys. */
export interface KeyWrapper {
  /** @param context binds the text to its row. @throws StorageUnavailableError */
  wrap(key: Buffer, context: string): Promise<string>;
  /** Whether this wrapper can unwrap the text. */
  canUnwrap(text: string): boolean;
  /** @throws StorageUnavailableError; Error when the text was changed or is of another row */
  unwrap(text: string, context: string): Promise<Buffer>;
  /** The beginning of what it wraps now, up to the end of the name of the key. @throws StorageUnavailableError */
  currentPrefix(): Promise<string>;
}

/** Under STORAGE_KEY or SECRET_KEY. */
class OperatorKeyWrapper implements KeyWrapper {
  constructor(private readonly secrets: SecretsService) {}

  async wrap(key: Buffer, context: string): Promise<string> {
    return this.secrets.encrypt(key.toString('base64'), context);
  }

  canUnwrap(text: string): boolean {
    return this.secrets.madeUnder(text) !== null;
  }

  async unwrap(text: string, context: string): Promise<Buffer> {
    return Buffer.from(this.secrets.decrypt(text, context), 'base64');
  }

  async currentPrefix(): Promise<string> {
    return `${this.secrets.keyId}.`;
  }
}

type Settings = Pick<
  Env,
  'storageEncryption' | 'storageKey' | 'storageKeyPrevious' | 'secretKey' | 'secretKeyPrevious'
>;

/** All that this process can unwrap with. The first one wraps. */
export function keyWrappersOf(env: Settings): KeyWrapper[] {
  const pairs = [
    { secretKey: env.storageKey, secretKeyPrevious: env.storageKeyPrevious },
    { secretKey: env.secretKey, secretKeyPrevious: env.secretKeyPrevious },
  ];
  return pairs.flatMap((pair) => (pair.secretKey === null ? [] : [new OperatorKeyWrapper(new SecretsService(pair))]));
}
