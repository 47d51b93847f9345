import type { Env } from '../../config/env.js';
import { SecretsService } from '../../secrets.service.js';
import type { KeyWrapper } from './key-wrapper.js';
import { TransitKeyWrapper, type TransitSettings } from './transit-key-wrapper.js';

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

type Settings = TransitSettings &
  Pick<Env, 'storageEncryption' | 'storageKey' | 'storageKeyPrevious' | 'secretKey' | 'secretKeyPrevious'>;

/** All that this process can unwrap with. The first one wraps: what STORAGE_ENCRYPTION names. */
export function keyWrappersOf(env: Settings): KeyWrapper[] {
  const kms = env.storageKmsUrl === null ? [] : [new TransitKeyWrapper(env.storageKmsUrl, env)];
  const pairs = [
    { secretKey: env.storageKey, secretKeyPrevious: env.storageKeyPrevious },
    { secretKey: env.secretKey, secretKeyPrevious: env.secretKeyPrevious },
  ];
  const own = pairs.flatMap((pair) =>
    pair.secretKey === null ? [] : [new OperatorKeyWrapper(new SecretsService(pair))],
  );
  return env.storageEncryption === 'kms' ? [...kms, ...own] : [...own, ...kms];
}
