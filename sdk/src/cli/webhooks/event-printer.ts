import type { Output } from '../terminal/output.js';
import { clock, duration, tagsOf } from '../terminal/format.js';
import { oneLine } from '../terminal/text-width.js';
import { statusColour } from '../terminal/status-colour.js';
import type { Delivery } from './receiver.js';

const FORWARD_MS = 15_000;
/** Of a connection, not of the event. */
const NOT_FORWARDED = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect']);

interface EventBody {
  event?: string;
  recording?: { id?: string; duration?: number; custom_tags?: Record<string, string> };
  error?: { message?: string };
}

/** Prints deliveries, and sends them on. */
export class EventPrinter {
  /** Settles after the last of `count` events; without it never. */
  readonly done: Promise<void>;
  private finish: () => void = () => {};
  private seen = 0;

  constructor(
    private readonly output: Output,
    private readonly options: { forward?: string | undefined; count?: number | undefined },
  ) {
    this.done = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  /** @param problem of the signature; null when it is valid. @returns the answer to the service */
  async receive(delivery: Delivery, problem: string | null): Promise<{ status: number; text: string }> {
    if (problem !== null) {
      this.output.warn(`A request was refused. ${problem}`);
      return { status: 401, text: problem };
    }
    const text = delivery.body.toString('utf8');
    const body = JSON.parse(text) as EventBody;
    const forwarded = this.options.forward === undefined ? null : await this.forward(this.options.forward, delivery);
    this.print(delivery, body, forwarded);
    if (body.event !== 'webhook.test') this.seen += 1;
    if (this.seen === this.options.count) setImmediate(this.finish);
    // The answer of the own server is the answer to the service, which tries again what it refuses.
    return { status: forwarded?.status ?? 200, text: forwarded?.text ?? 'Thank you.' };
  }

  private print({ headers }: Delivery, body: EventBody, forwarded: { status: number; text: string } | null): void {
    const attempt = Number(headers['x-service-delivery-attempt'] ?? 1);
    const eventId = headers['x-service-event-id'] ?? null;
    const status = forwarded?.status ?? null;
    this.output.jsonLine({ event_id: eventId, attempt, signature: 'valid', forwarded_status: status, body });
    const { paint } = this.output;
    const kind = body.event ?? 'unknown';
    const colour = statusColour(kind.replace(/^recording\./, ''));
    const parts = [
      paint('dim', clock(new Date())),
      colour ? paint(colour, oneLine(kind)) : oneLine(kind),
      body.recording?.id ?? '',
      body.recording?.duration === undefined ? '' : duration(body.recording.duration),
      oneLine(tagsOf(body.recording?.custom_tags ?? null)),
      oneLine(body.error?.message ?? ''),
      attempt > 1 ? `attempt ${attempt}` : '',
      'signature valid',
      status === null ? '' : paint(status < 300 ? 'green' : 'red', `→ ${status}`),
    ];
    this.output.print(parts.filter((part) => part !== '').join('  '));
  }

  private async forward(url: string, { headers, body }: Delivery): Promise<{ status: number; text: string }> {
    const kept = Object.entries(headers).filter(([name, value]) => !NOT_FORWARDED.has(name) && value !== undefined);
    try {
      const signal = AbortSignal.timeout(FORWARD_MS);
      const content = new Uint8Array(body);
      const sent = {
        method: 'POST',
        headers: Object.fromEntries(kept) as Record<string, string>,
        body: content,
        signal,
      };
      const response = await fetch(url, { ...sent, redirect: 'manual' });
      return { status: response.status, text: (await response.text()).slice(0, 1024) };
    } catch (error) {
      this.output.warn(`${url} does not answer: ${(error as Error).message}.`);
      return { status: 502, text: 'The server behind the listener does not answer.' };
    }
  }
}
