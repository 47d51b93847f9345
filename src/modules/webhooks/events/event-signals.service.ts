import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { SignalsService, type Unsubscribe } from '../../../platform/redis/signals.service.js';

/** A channel for each account, so that a process gets only what its own streams wait for. */
const channelOf = (accountId: string): string => `events:${accountId}`;
/** Events that are committed within this time share a message. */
const BATCH_MS = 20;

/** Tells the event streams of an account, in every process, that it has new events. Messages may get lost. */
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

  /** @param listener is called when the account has, or may have, new events. It must not throw. */
  subscribe(accountId: string, listener: () => void): Unsubscribe {
    return this.signals.subscribe(channelOf(accountId), listener);
  }

  onApplicationShutdown(): void {
    if (this.timer) this.flush();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const accountIds = [...this.announced];
    this.announced.clear();
    for (const accountId of accountIds) void this.signals.publish(channelOf(accountId), 'new');
  }
}
