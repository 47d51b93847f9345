const SECRET_PREFIX = 'whsec_';
/** RFC 4648 §4 with its padding. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/;

type Bytes = Uint8Array<ArrayBuffer>;

const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

/** HMAC-SHA-256, with the crypto of the platform. */
async function hmac(key: Bytes, message: Bytes): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, message));
}

/** `sha256=` and hexadecimal: the value of `X-Service-Signature`. */
export async function bodySignature(secret: string, body: Bytes): Promise<string> {
  const digest = await hmac(utf8(secret), body);
  return `sha256=${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** `v1,` and base64: a value of `webhook-signature`, over `id.timestamp.body`. */
export async function standardSignature(secret: string, id: string, timestamp: string, body: Bytes): Promise<string> {
  const head = utf8(`${id}.${timestamp}.`);
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  return `v1,${btoa(String.fromCharCode(...(await hmac(standardKey(secret), message))))}`;
}

/** A secret that is not base64 after `whsec_` is itself the key, as one without the prefix is. */
function standardKey(secret: string): Bytes {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  return BASE64.test(encoded) ? Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)) : utf8(secret);
}

/** Takes the same time wherever the two differ. */
export function isSame(expected: string, given: string): boolean {
  if (expected.length !== given.length) return false;
  let difference = 0;
  for (let i = 0; i < expected.length; i += 1) difference |= expected.charCodeAt(i) ^ given.charCodeAt(i);
  return difference === 0;
}
