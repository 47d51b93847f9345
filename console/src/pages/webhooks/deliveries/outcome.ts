import type { Delivery } from 'vnotes';

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
const CAUSES: Record<string, string> = {
  dns: 'The host name has no public address, or its name servers did not answer. Check the name in the URL.',
  connect: 'Nothing accepted the connection. Check the port and the firewall, and whether the receiver runs.',
  tls: 'The certificate is expired, self-signed or for another name, or an intermediate one is missing. Check the chain that the receiver sends.',
  timeout:
    'No connection came within 5 seconds, or no answer within 15. Answer first and do slow work afterwards; a firewall may drop packets.',
  reset:
    'The connection was closed before a whole answer, or the answer is not HTTP. See the log of the receiver or its proxy.',
  refused_address:
    'The URL is one that the service no longer sends to, such as an http URL or a private address. Change it, or ask the operator.',
  secret: 'The secret cannot be read, so nothing was sent. Set a new secret.',
};

export function isSuccess({ status }: Pick<Outcome, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** What came back, in a few words: `200`, or why there was no answer. */
export function outcomeTitle({ status, error, reason }: Outcome): string {
  if (status !== null) return `HTTP ${status}`;
  return reason ?? error ?? 'No answer';
}

/** What to do about a failure; null after a success. */
export function outcomeAdvice(outcome: Outcome): string | null {
  if (isSuccess(outcome)) return null;
  const { status, error, reason } = outcome;
  if (status === null) {
    if (reason === 'webhook disabled') {
      return 'The webhook was disabled while this delivery was pending. Enable the webhook, then redeliver.';
    }
    return error === null ? null : (CAUSES[error] ?? null);
  }
  if (status === 401 || status === 403) {
    return 'The receiver refused the request. A signature is checked over the raw bytes of the body, with the present secret.';
  }
  if (status === 404 || status === 405)
    return 'The receiver has nothing at this path that takes a POST. Check the URL.';
  if (status === 410) return 'The receiver says that it is gone, so the webhook was disabled.';
  if (status >= 300 && status < 400) return 'Redirects are not followed. Set the URL that the redirect leads to.';
  if (status >= 500) return 'The receiver failed. See its log; its answer is below.';
  return 'Only an answer from 200 to 299 counts as received.';
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
