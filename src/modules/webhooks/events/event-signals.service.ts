import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DelayedWrite } from '../../../platform/concurrency/delayed-write.js';
import { SignalsService, type Unsubscribe } from '../../../platform/redis/signals.service.js';

/** A channel for each account, so that a process gets only what its own streams wait for. */
const channelOf = (accountId: string): string => `events:${accountId}`;
/** Events that are committed within this time share a message. */
const BATCH_MS = 20;

/** Tells the event streams of an account, in every process, that it has new events. Messages may get lost. */
@Injectable()
export class EventSignalsService implements OnApplicationShutdown {
  private readonly announced = new Set<string>();
  private readonly publication = new DelayedWrite(BATCH_MS, () => this.publish());

  constructor(private readonly signals: SignalsService) {}

  /** To be called after the commit. */
  announce(accountId: string): void {
    this.announced.add(accountId);
    this.publication.schedule();
  }

  /** @param listener is called when the account has, or may have, new events. It must not throw. */
  subscribe(accountId: string, listener: () => void): Unsubscribe {
    return this.signals.subscribe(channelOf(accountId), listener);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.publication.flush();
  }

  private async publish(): Promise<void> {
    const accountIds = [...this.announced];
    this.announced.clear();
    await Promise.all(accountIds.map((accountId) => this.signals.publish(channelOf(accountId), 'new')));
  }
}
