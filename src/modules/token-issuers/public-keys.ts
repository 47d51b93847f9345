import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

/** Algorithms of tokens of other issuers: with public keys only. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

/** What is kept of a key. */
const MEMBERS = ['kty', 'kid', 'alg', 'use', 'n', 'e', 'crv', 'x', 'y'] as const;
export type PublicJwk = Partial<Record<(typeof MEMBERS)[number], string>>;

export const MAX_KEYS = 20;
/** An RSA key of 4096 bits has less than 800 characters. */
const MAX_CHARACTERS = 2048;
const MIN_RSA_BITS = 2048;

const WANTED = 'must be public keys as JWK: RSA of 2048 bits or more, EC P-256, or OKP Ed25519';

/** What is wrong with a list of public keys, in words that follow the field's name; null if nothing. */
export function publicKeysProblem(value: unknown): string | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_KEYS)
    return `must be a list of 1 to ${MAX_KEYS} public keys, as JWK`;
  if (value.some((key) => typeof key === 'object' && key !== null && ('d' in key || 'k' in key)))
    return 'must hold no private or secret key; replace this one, as it was sent to another party';
  return value.every(isPublicKey) ? null : WANTED;
}

/** Without the members that are of no use, such as certificates. */
export const knownMembers = (key: object): PublicJwk =>
  Object.fromEntries(
    MEMBERS.map((name) => [name, Reflect.get(key, name)]).filter(([, value]) => value !== undefined),
  ) as PublicJwk;

function isPublicKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const key = knownMembers(value);
  const fits = Object.values(key).every((member: unknown) => isShortText(member));
  return fits && isSafe(key);
}

const isShortText = (value: unknown): boolean => typeof value === 'string' && value.length <= MAX_CHARACTERS;

function isSafe(key: PublicJwk): boolean {
  const parsed = parse(key);
  if (parsed === null) return false;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = parsed;
  if (type === 'rsa') return (details?.modulusLength ?? 0) >= MIN_RSA_BITS;
  return type === 'ec' ? details?.namedCurve === 'prime256v1' : type === 'ed25519';
}

function parse(key: PublicJwk): KeyObject | null {
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
  } catch {
    return null;
  }
}
