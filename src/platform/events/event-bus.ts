import { Injectable, Logger } from '@nestjs/common';
import type { Tx } from '../database/database.service.js';

type EventClass<E> = abstract new (...args: never[]) => E;
type Listener<E> = (event: E, tx: Tx) => Promise<void>;

interface Subscription {
  eventClass: EventClass<unknown>;
  listener: Listener<unknown>;
  mustSucceed: boolean;
}

/**
 * Carries what has just happened from the room in which it happened to those that care, inside the same transaction:
 * a listener writes through `tx` or registers `tx.afterCommit`, and does nothing else.
 */
@Injectable()
export class EventBus {
  private readonly logger = new Logger(EventBus.name);
  private readonly subscriptions: Subscription[] = [];
  private failures = 0;

  /**
   * @param options.mustSucceed an error of the listener refuses the whole change. Otherwise it runs in a savepoint:
   * its error is undone, logged and counted, and the change stands. Extensions should leave it at that.
   */
  on<E>(eventClass: EventClass<E>, listener: Listener<E>, options = { mustSucceed: false }): void {
    this.subscriptions.push({ eventClass, listener: listener as Listener<unknown>, ...options });
  }

  async emit(event: object, tx: Tx): Promise<void> {
    for (const { eventClass, listener, mustSucceed } of this.subscriptions) {
      if (!(event instanceof eventClass)) continue;
      if (mustSucceed) await listener(event, tx);
      else await this.isolate(tx, event, listener);
    }
  }

  /** Errors of isolated listeners since the start of the process. */
  get listenerFailures(): number {
    return this.failures;
  }

  private async isolate(tx: Tx, event: object, listener: Listener<unknown>): Promise<void> {
    try {
      await tx.savepoint((inner) => listener(event, inner));
    } catch (error) {
      this.failures += 1;
      this.logger.error({ err: error, event: event.constructor.name }, 'a listener failed and was undone');
    }
  }
}
