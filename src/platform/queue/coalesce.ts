import DataLoader from 'dataloader';

/** Of one round. */
const MAX_ITEMS = 100;

/**
 * Collects work that is asked for while a round of it is under way into the next round. Rounds follow each other, so
 * under load a statement, and its commit, stands for many; nobody waits for a round to fill.
 * @param perform does one round, and answers for each item in their order; an answer may still be a promise.
 */
export function coalesce<Item, Answer>(
  perform: (items: readonly Item[]) => Promise<(Answer | Promise<Answer>)[]>,
): (item: Item) => Promise<Answer> {
  let underWay: Promise<unknown> = Promise.resolve();
  const round = (items: readonly Item[]): Promise<(Answer | Promise<Answer>)[]> => {
    const answers = perform(items);
    underWay = answers.catch(() => undefined);
    return answers;
  };
  const loader = new DataLoader<Item, Answer | Promise<Answer>>(round, {
    cache: false,
    maxBatchSize: MAX_ITEMS,
    batchScheduleFn: (begin) => void underWay.finally(begin),
  });
  return async (item) => await loader.load(item);
}
