import { NIL } from 'uuid';
import type { Env } from '../../config/env.js';
import type { SqlRunner } from '../../database/database.service.js';
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

interface WrappedKey {
  /** Of the account. */
  id: string;
  version: number;
  text: string;
}

/** Rows that one statement reads. */
const BATCH = 500;

/** Keys of accounts that nothing of this environment unwraps. Asks no KMS. SQL, for a database without the application. */
export async function countUnreadable(env: Settings, runner: SqlRunner): Promise<number> {
  const wrappers = keyWrappersOf(env);
  let count = 0;
  for (let last: Pick<WrappedKey, 'id' | 'version'> = { id: NIL, version: 0 }; ;) {
    const rows = await runner.query<WrappedKey>(
      `SELECT account_id AS id, version, wrapped_key AS text FROM storage_keys
       WHERE (account_id, version) > ($1::uuid, $2) ORDER BY account_id, version LIMIT $3`,
      [last.id, last.version, BATCH],
    );
    count += rows.filter(({ text }) => !wrappers.some((wrapper) => wrapper.canUnwrap(text))).length;
    if (rows.length < BATCH) break;
    last = rows.at(-1) as WrappedKey;
  }
  for (const wrapper of wrappers) await wrapper.close?.();
  return count;
}
