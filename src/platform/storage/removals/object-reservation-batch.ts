import type { SqlRunner } from '../../database/database.service.js';
import { coalesce } from '../../concurrency/coalesce.js';
import { insertReservations } from './object-removals.queries.js';

/** Longer than any store takes for one upload. */
const RESERVATION_SECONDS = 3600;

/**
 * Reserves the keys of objects. Reservations that are asked for while a statement is under way share the next one, and
 * with it a commit; alone, a reservation waits for nothing. 16 at a time take 56 µs CPU each instead of 200
 * (docs/performance.md). Held by `object-reservation-batch.spec.ts`.
 */
export class ObjectReservationBatch {
  /** Resolves once the reservation is committed. */
  readonly reserve: (key: string) => Promise<void>;

  constructor(runner: SqlRunner) {
    this.reserve = coalesce<string, void>(async (keys) => {
      await insertReservations(runner, keys, RESERVATION_SECONDS);
      return keys.map(() => undefined);
    });
  }
}
