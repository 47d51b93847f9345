import { Injectable, Logger } from '@nestjs/common';
import type { Tx } from './database.service.js';

type EventClass<E> = abstract new (...args: never[]) => E;
type Listener<E> = (event: E, tx: Tx) => Promise<void>;

/** An INSERT that rides on a statement of the emitter, which spares a round trip. */
export interface JoinedWrite {
  /** The same text at every call. @param first number of its first placeholder */
  sql: (first: number) => string;
  parameters: unknown[];
}

type Join<E> = (event: E, tx: Tx) => JoinedWrite;

interface Subscription {
  eventClass: EventClass<unknown>;
  listener: Listener<unknown>;
  mustSucceed: boolean;
}

/**
 * Calls the listeners of an event inside the transaction that emits it. A listener writes through `tx` or registers
 * `tx.afterCommit`, and does nothing else.
 */
@Injectable()
export class EventBus {
  private readonly logger = new Logger(EventBus.name);
  private readonly subscriptions: Subscription[] = [];
  private readonly joins: { eventClass: EventClass<unknown>; join: Join<unknown> }[] = [];
  private failures = 0;

  /**
   * @param options.mustSucceed rolls back the whole transaction when the listener throws. Otherwise the listener runs
   * in a savepoint, and its error is rolled back, logged and counted. Extensions should keep this default.
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

  /**
   * For events that are emitted by a frequent statement and ask `writesFor` for what to add to it. The INSERT selects its
   * values from the CTE that the event names, so that it writes nothing when that has no row.
   */
  join<E>(eventClass: EventClass<E>, join: Join<E>): void {
    this.joins.push({ eventClass, join: join as Join<unknown> });
  }

  writesFor(event: object, tx: Tx): JoinedWrite[] {
    return this.joins.filter(({ eventClass }) => event instanceof eventClass).map(({ join }) => join(event, tx));
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
      this.logger.error({ err: error, event: event.constructor.name }, 'extension listener failed; rolled back');
    }
  }
}
