/** A message of a stream of server-sent events. */
export interface ServerSentEvent {
  /** The id of this message, or of the last one that had any. */
  id: string;
  event: string;
  /** Null for a message without data, which is no event but may carry an id. */
  data: string | null;
}

/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) from bytes that may be cut
 * anywhere, in a line end or a character, too. What follows the last empty line is no event yet.
 */
export class SseParser {
  /** Milliseconds before connecting again, as the service asks. */
  retryMs: number | null = null;
  private readonly decoder = new TextDecoder();
  private pending = '';
  private id = '';
  private event = '';
  private data: string[] = [];

  push(bytes: Uint8Array): ServerSentEvent[] {
    this.pending += this.decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be half of a line end.
    const lines = this.pending.split(/\r\n|\n|\r(?!$)/);
    this.pending = lines.pop() ?? '';
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerSentEvent[] {
    if (line === '') return [this.dispatch()];
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    else if (field === 'id' && !value.includes('\0')) this.id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    return [];
  }

  private dispatch(): ServerSentEvent {
    const message = { id: this.id, event: this.event, data: this.data.length > 0 ? this.data.join('\n') : null };
    this.event = '';
    this.data = [];
    return message;
  }
}
