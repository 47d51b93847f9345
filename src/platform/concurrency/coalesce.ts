import { setTimeout as delay } from 'node:timers/promises';
import DataLoader from 'dataloader';

const MAX_ITEMS = 100;

interface CoalesceOptions {
  /** In one call of `perform`. */
  maxItems?: number;
  /** One batch at a time, and each this long after the start of the one before: for calls that anybody can cause. */
  pauseMs?: number;
}

/**
 * Batches calls that arrive while a batch is in progress, so that under load one statement and its commit serve many
 * callers. No batch waits to be filled. A delivery that succeeded takes 190 µs CPU instead of 670, a reservation 56 instead
 * of 200 (docs/performance.md). Held by deliveries.service.spec.ts.
 * @param perform handles one batch, and returns an answer for each item in order, which may be a promise.
 */
export function coalesce<Item, Answer>(
  perform: (items: readonly Item[]) => Promise<(Answer | Promise<Answer>)[]>,
  { maxItems = MAX_ITEMS, pauseMs }: CoalesceOptions = {},
): (item: Item) => Promise<Answer> {
  let inProgress: Promise<unknown> = Promise.resolve();
  const batch = (items: readonly Item[]): Promise<(Answer | Promise<Answer>)[]> => {
    const answers = perform(items);
    inProgress = answers.catch(() => undefined);
    return answers;
  };
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (begin: () => void): void => {
    turn = turn.then(() => {
      begin();
      return Promise.all([inProgress, delay(pauseMs, undefined, { ref: false })]);
    });
  };
  const loader = new DataLoader<Item, Answer | Promise<Answer>>(batch, {
    cache: false,
    maxBatchSize: maxItems,
    batchScheduleFn: pauseMs === undefined ? (begin) => void inProgress.finally(begin) : inTurn,
  });
  return async (item) => await loader.load(item);
}
