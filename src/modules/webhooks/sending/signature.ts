import { createHmac } from 'node:crypto';

interface SignedDelivery {
  /** The webhook's secret in plain text. */
  secret: string;
  /** The one before, while receivers may not have the new one yet (D37). */
  previousSecret?: string | null;
  /** The event's id, the same on every attempt. */
  eventId: string;
  /** Unix time in seconds of this attempt. */
  timestampSeconds: number;
  /** The bytes that are sent. */
  body: Buffer;
}

const SECRET_PREFIX = 'whsec_';
/** RFC 4648 §4 with its padding: what the Standard Webhooks libraries accept. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/;

/**
 * The signature headers: `X-Service-Signature` over the body, and those of Standard Webhooks
 * (https://www.standardwebhooks.com), whose signature also covers the id and the time against replays.
 */
export function signDelivery({
  secret,
  previousSecret,
  eventId,
  timestampSeconds,
  body,
}: SignedDelivery): Record<string, string> {
  const bodyDigest = createHmac('sha256', Buffer.from(secret, 'utf8')).update(body).digest('hex');
  const messageDigest = (key: Buffer): string =>
    createHmac('sha256', key).update(`${eventId}.${timestampSeconds}.`).update(body).digest('base64');
  const secrets = typeof previousSecret === 'string' ? [secret, previousSecret] : [secret];
  return {
    'X-Service-Signature': `sha256=${bodyDigest}`,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': secrets.map((one) => `v1,${messageDigest(standardKey(one))}`).join(' '),
  };
}

/** A secret that is not base64 after `whsec_` is itself the key, as one without the prefix is. */
function standardKey(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  return BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8');
}
