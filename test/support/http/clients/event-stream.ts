import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { ApiClient } from '../../../../src/testing/api-client.js';
import { eventually } from '../../../../src/testing/eventually.js';

export interface StreamedEvent {
  id: number;
  event: string;
  data: string;
  /** When it arrived. */
  at: number;
}

/** A reader of `GET /v1/events/stream`. */
export class EventStreamClient {
  readonly events: StreamedEvent[] = [];
  comments = 0;
  /** As a browser keeps it: also set by a message without data. */
  lastEventId: number | null = null;
  endedAt: number | null = null;
  private rest = '';

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.read(text));
    response.on('close', () => (this.endedAt = Date.now()));
    response.on('error', () => undefined);
  }

  /** Resolves when the answer begins, whatever its status. */
  static async open(
    { url, headers }: Pick<ApiClient, 'url' | 'headers'>,
    { query = '', lastEventId }: { query?: string; lastEventId?: number | string | null } = {},
  ): Promise<EventStreamClient> {
    const resume = lastEventId === undefined || lastEventId === null ? {} : { 'Last-Event-ID': String(lastEventId) };
    const request = get(`${url}/v1/events/stream${query}`, { headers: { ...headers, ...resume }, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return new EventStreamClient(response);
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  get ids(): number[] {
    return this.events.map(({ id }) => id);
  }

  /** The event of this kind about a recording. */
  async received(event: string, recordingId: string): Promise<StreamedEvent> {
    return await eventually(() => this.events.find((one) => one.event === event && one.data.includes(recordingId)));
  }

  /** What arrived, of an answer that ended by itself. */
  async ended(): Promise<void> {
    await eventually(() => this.endedAt !== null);
  }

  close(): void {
    this.response.destroy();
  }

  private read(text: string): void {
    const messages = (this.rest + text).split('\n\n');
    this.rest = messages.pop() ?? '';
    for (const message of messages) this.take(message);
  }

  private take(message: string): void {
    const fields = new Map<string, string[]>();
    for (const line of message.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === '') this.comments++;
      else fields.set(name, [...(fields.get(name) ?? []), value]);
    }
    const id = fields.get('id')?.[0];
    if (id !== undefined) this.lastEventId = Number(id);
    const data = fields.get('data');
    if (!data) return;
    this.events.push({
      id: Number(id),
      event: fields.get('event')?.[0] ?? 'message',
      data: data.join('\n'),
      at: Date.now(),
    });
  }
}
