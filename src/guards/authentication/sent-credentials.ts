import type { IncomingHttpHeaders } from 'node:http';

/** The two halves of an API key, as sent. */
export interface SentKeyPair {
  key: string;
  secret: string;
}

/** What a request sends to identify its caller; nothing of it has been checked. */
export interface SentCredentials {
  keyPair: SentKeyPair | null;
  /** From `Authorization: Bearer`, unless that holds a key pair. Empty for a scheme without a token. */
  token: string | null;
}

/** A client that knows one API key only, such as OpenAI's, sends both halves in one text. */
const KEY_PAIR = /^(vnk_[^.]*)\.(vns_.*)$/;

/**
 * The pair comes in its two headers or as `Authorization: Bearer key.secret` (D45); in both it must be the same.
 * @returns null for half a pair, or two of them.
 */
export function readCredentials(headers: IncomingHttpHeaders): SentCredentials | null {
  const { 'x-service-api-key': key, 'x-service-api-secret': secret } = headers;
  const bearer = bearerToken(headers);
  const keyPair = bearer === null ? null : keyPairOf(bearer);
  const token = keyPair ? null : bearer;
  if (key === undefined && secret === undefined) return { keyPair, token };
  if (typeof key !== 'string' || typeof secret !== 'string') return null;
  return keyPair && (keyPair.key !== key || keyPair.secret !== secret) ? null : { keyPair: { key, secret }, token };
}

function keyPairOf(bearer: string): SentKeyPair | null {
  const [, key, secret] = KEY_PAIR.exec(bearer) ?? [];
  return key === undefined || secret === undefined ? null : { key, secret };
}

/** Other schemes than Bearer are ignored: a proxy's Basic credentials may pass through. */
function bearerToken({ authorization }: IncomingHttpHeaders): string | null {
  const [scheme] = /^bearer(?:$| +)/i.exec(authorization ?? '') ?? [];
  return scheme === undefined || authorization === undefined ? null : authorization.slice(scheme.length);
}
