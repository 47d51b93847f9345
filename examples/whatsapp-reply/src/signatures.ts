import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Whether a body was signed with the secret. WhatsApp (`X-Hub-Signature-256`) and the transcription service
 * (`X-Service-Signature`) sign alike: `sha256=` and the HMAC-SHA-256 of the raw bytes in hexadecimal.
 */
export function isSigned(body: Buffer, header: string | string[] | undefined, secret: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(String(header));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
