import type { EventFeedListData, EventPage, EventTypesView, EventTypeView } from '../api/types.gen.js';
import { EventStream, type StreamOptions } from '../events/event-stream.js';
import type { AccountEvent, StoredEvent } from '../events/event-types.js';
import type { RequestOptions } from '../http/client-options.js';
import type { Transport } from '../http/transport.js';
import { Paged } from '../pages/paged.js';

/** A page of the feed. */
export type FeedPage = Omit<EventPage, 'events'> & { events: StoredEvent[] };

/** Where to begin in the feed, and how much to read at once. */
export type EventQuery = Omit<NonNullable<EventFeedListData['query']>, 'after'> & { after?: string | number };

/** What happened in the account, in order. */
export class EventsResource {
  constructor(private readonly transport: Transport) {}

  /** The events that are stored, the oldest first. To follow them, `stream`. */
  list(query: EventQuery = {}, options?: RequestOptions): Paged<FeedPage, StoredEvent> {
    return new Paged({
      first: () => this.transport.json<FeedPage>({ ...options, method: 'GET', path: '/events', query: { ...query } }),
      next: (uri) => this.transport.follow<FeedPage>(uri, options),
      itemsOf: ({ events }) => events,
    });
  }

  /** Every type of event with an example of its body, those of extensions of the service, too. */
  async types(options?: RequestOptions): Promise<EventTypeView[]> {
    const path = '/event-types';
    const { event_types } = await this.transport.json<EventTypesView>({ ...options, method: 'GET', path });
    return event_types;
  }

  /**
   * Events as they happen, within about a second. A lost connection is made again, and no event is missing or comes twice.
   * The loop ends when you leave it or abort the signal, or throws when the service refuses, as after the key is revoked.
   *
   * ```js
   * for await (const event of client.events.stream()) {
   *   if (event.event === 'recording.transcribed') console.log(event.body.recording.id);
   * }
   * ```
   */
  stream(options: StreamOptions = {}): AsyncIterable<AccountEvent> {
    return { [Symbol.asyncIterator]: () => new EventStream(this.transport, options).events() };
  }
}
