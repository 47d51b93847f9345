/**
 * The key of an encrypted object names the version of its account's key, as the second segment:
 * `{account}/k3/2026/11/{recording}.webm`. So the row of a recording says whether its audio is encrypted, and under what.
 */
const ENCRYPTED = /^([\w-]+)\/k([1-9]\d{0,9})(\/.+)$/;

export interface EncryptedKey {
  accountId: string;
  version: number;
}

/** Null for the key of an object that is not encrypted. */
export function readEncryptedKey(key: string): EncryptedKey | null {
  const [, accountId, version] = ENCRYPTED.exec(key) ?? [];
  return accountId === undefined ? null : { accountId, version: Number(version) };
}

/** The key that an object would have without encryption. */
export const plainKeyOf = (key: string): string => key.replace(ENCRYPTED, '$1$3');

/** @param key without a version */
export function encryptedKeyOf(key: string, version: number): string {
  const end = key.indexOf('/');
  return `${key.slice(0, end)}/k${version}${key.slice(end)}`;
}

/** Of a key: the account that it belongs to. */
export const accountOf = (key: string): string => key.slice(0, key.indexOf('/'));
