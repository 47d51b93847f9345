import type { EventFeedListData, EventFeedListResponse, EventView } from '../api/types.gen.js';
import type { RequestOptions, Transport } from '../http/transport.js';

/** Events of the account, oldest first. */
export class EventsResource {
  constructor(private readonly transport: Transport) {}

  list(query?: EventFeedListData['query'], options?: RequestOptions): Promise<EventFeedListResponse> {
    return this.transport.json({ method: 'GET', path: '/events', query, ...options });
  }
}

export type AccountEvent = EventView;
