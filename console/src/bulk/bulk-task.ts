import { signal } from '@preact/signals';

/** The same thing done to many, such as the deletion of what was selected. */
export interface BulkProgress {
  /** What happens: `Deleting`. */
  label: string;
  done: number;
  total: number;
}

export const bulkProgress = signal<BulkProgress | null>(null);

/** At once; more would only wait for the limit of the account. */
const CONCURRENCY = 4;
/** Shown from this number on: fewer are done before it could be read. */
const SHOWN_FROM = 3;

/**
 * Runs `run` for each item, several at once.
 * @returns the items for which it failed, and the first error
 */
export async function runMany<T>(
  label: string,
  items: readonly T[],
  run: (item: T) => Promise<unknown>,
): Promise<{ failed: T[]; error: unknown }> {
  const failed: T[] = [];
  let [next, done] = [0, 0];
  let error: unknown = null;
  const show = () => {
    if (items.length >= SHOWN_FROM) bulkProgress.value = { label, done, total: items.length };
  };
  const worker = async () => {
    while (next < items.length) {
      const item = items[next] as T;
      next += 1;
      try {
        await run(item);
      } catch (caught) {
        error ??= caught;
        failed.push(item);
      }
      done += 1;
      show();
    }
  };
  show();
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  bulkProgress.value = null;
  return { failed, error };
}
