/** The only HTTP date that senders may still produce (RFC 9110 §5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait that a `Retry-After` header asks for, in milliseconds: a number of seconds or an HTTP date (RFC 9110
 * §10.2.3). Null for any other value; 0 for a date in the past.
 */
export function parseRetryAfter(header: string | null | undefined, now = new Date()): number | null {
  const value = header?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  if (!HTTP_DATE.test(value)) return null;
  const ms = Date.parse(value) - now.getTime();
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}
