import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { SignalsService, type Unsubscribe } from '../../../platform/redis/signals.service.js';

const CHANNEL = 'events';
/** Events that are committed within this time share a message. */
const BATCH_MS = 20;

/** Tells the event streams of every process which accounts have new events. Messages may get lost. */
@Injectable()
export class EventSignalsService implements OnApplicationShutdown {
  private readonly announced = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly signals: SignalsService) {}

  /** To be called after the commit. */
  announce(accountId: string): void {
    this.announced.add(accountId);
    this.timer ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  /** @param listener is called with account ids, or with null when some may have been missed. */
  subscribe(listener: (accountIds: string[] | null) => void): Unsubscribe {
    return this.signals.subscribe(CHANNEL, (message) => listener(message === null ? null : message.split(',')));
  }

  onApplicationShutdown(): void {
    if (this.timer) this.flush();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const accountIds = [...this.announced];
    this.announced.clear();
    void this.signals.publish(CHANNEL, accountIds.join(','));
  }
}
