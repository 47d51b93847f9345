import type { Delivery } from 'vnotes';
import { t, type Text } from '../../../language/texts';

/** One attempt, as the log and a test call have it. */
export interface Attempt {
  number: number;
  started_at: string;
  status: number | null;
  error: string | null;
  reason: string | null;
  duration_ms: number;
  response: string | null;
}

type Outcome = Pick<Attempt, 'status' | 'error' | 'reason'>;

/** Where the cause is to be found, by what went wrong before an answer came. */
const CAUSES: Record<string, Text> = {
  dns: 'The host name has no public address, or its name servers did not respond. Check the host in the URL.',
  connect: 'Nothing accepted the connection. Check the port and the firewall, and that the receiver is running.',
  tls: 'The certificate is expired, self-signed or for another host, or an intermediate certificate is missing. Check the chain that the receiver sends.',
  timeout:
    'There was no connection within 5 seconds, or no response within 15. Respond first and do slow work afterwards. A firewall may be dropping packets.',
  reset:
    'The connection was closed before the response was complete, or the response is not HTTP. Check the log of the receiver or its proxy.',
  refused_address:
    'The service no longer sends to this URL, such as an http URL or a private address. Change it, or ask the operator.',
  secret: 'The secret cannot be read, so nothing was sent. Set a new secret.',
};

export function isSuccess({ status }: Pick<Outcome, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** What came back, in a few words: `200`, or why there was no answer. */
export function outcomeTitle({ status, error, reason }: Outcome): string {
  if (status !== null) return `HTTP ${status}`;
  return reason ?? error ?? t('No response');
}

/** What to do about a failure; null after a success. */
export function outcomeAdvice(outcome: Outcome): string | null {
  const advice = adviceFor(outcome);
  return advice && t(advice);
}

function adviceFor(outcome: Outcome): Text | null {
  if (isSuccess(outcome)) return null;
  const { status, error, reason } = outcome;
  if (status === null) {
    if (reason === 'webhook disabled') {
      return 'The webhook was disabled while this delivery was pending. Enable the webhook, then resend it.';
    }
    return error === null ? null : (CAUSES[error] ?? null);
  }
  if (status === 401 || status === 403) {
    return 'The receiver rejected the request. It must verify the signature over the raw body, with the current secret.';
  }
  if (status === 404 || status === 405) return 'Nothing at this path accepts a POST request. Check the URL.';
  if (status === 410) return 'The receiver says that this URL is gone, so the webhook was disabled.';
  if (status >= 300 && status < 400) return 'Redirects are not followed. Set the URL that the redirect leads to.';
  if (status >= 500) return 'The receiver failed. Check its log. Its response is below.';
  return 'Only responses from 200 to 299 count as delivered.';
}

/** The last attempt of a delivery, as far as the list tells it. */
export function lastOutcome({ last_status, last_error, reason }: Delivery): Outcome {
  return { status: last_status, error: last_error, reason };
}

/** JSON over several lines; text that is no JSON as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
