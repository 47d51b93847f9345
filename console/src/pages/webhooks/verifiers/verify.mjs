import { createHmac, timingSafeEqual } from 'node:crypto';

const same = (a, b) => a.length === b.length && timingSafeEqual(a, b);

/** `headers` as Node gives them, names in lower case; `body` the raw bytes (express.raw(), request.arrayBuffer()). */
export function verify(secret, headers, body) {
  const digest = createHmac('sha256', secret).update(body).digest('hex');
  return same(Buffer.from(headers['x-service-signature'] ?? ''), Buffer.from(`sha256=${digest}`));
}

export function verifyStandard(secret, headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' } = headers;
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(time));
  if (!(ageSeconds <= 300)) return false;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const digest = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64');
  return signatures.split(' ').some((given) => same(Buffer.from(given), Buffer.from(`v1,${digest}`)));
}
