import DataLoader from 'dataloader';

/** In one call of `perform`. */
const MAX_ITEMS = 100;

/**
 * Batches calls that arrive while a batch is in progress, so that under load one statement and its commit serve many
 * callers. No batch waits to be filled. For deliveries, with the claims ahead, it raised 880 to 1,950 a second
 * (docs/performance.md). Held by delivery-success-batch.spec.ts.
 * @param perform handles one batch, and returns an answer for each item in order, which may be a promise.
 */
export function coalesce<Item, Answer>(
  perform: (items: readonly Item[]) => Promise<(Answer | Promise<Answer>)[]>,
): (item: Item) => Promise<Answer> {
  let inProgress: Promise<unknown> = Promise.resolve();
  const batch = (items: readonly Item[]): Promise<(Answer | Promise<Answer>)[]> => {
    const answers = perform(items);
    inProgress = answers.catch(() => undefined);
    return answers;
  };
  const loader = new DataLoader<Item, Answer | Promise<Answer>>(batch, {
    cache: false,
    maxBatchSize: MAX_ITEMS,
    batchScheduleFn: (begin) => void inProgress.finally(begin),
  });
  return async (item) => await loader.load(item);
}
