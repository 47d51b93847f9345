import { describeError } from '../components/describe-error';
import { toast } from '../components/toast';
import { t, type Text } from '../language/texts';
import type { BulkOutcome } from './bulk-task';

interface Words<T> {
  /** When all went well. */
  success: string;
  /** With `done` and `all`. */
  stopped: Text;
  /** With `failed` and `all`. */
  failed: Text;
  /** What did not fit, beside what failed: `2 have no transcript.` */
  note?: string;
  /** The same for those that failed or were not begun. */
  again: (items: T[]) => void;
}

/** Tells how it went: what failed, why, and what was not begun. */
export function tellOutcome<T>(
  { done, failed, left }: BulkOutcome<T>,
  { success, note, again, ...words }: Words<T>,
): void {
  const more = note ? ` ${note}` : '';
  if (failed.length === 0 && left.length === 0) return void toast(success + more);
  const all = done.length + failed.length + left.length;
  const sentences = [
    ...(left.length > 0 ? [t(words.stopped, { done: done.length, all })] : []),
    ...(failed.length > 0 ? [t(words.failed, { failed: failed.length, all }), reasonsOf(failed)] : []),
  ];
  const rest = [...failed.map(({ item }) => item), ...left];
  toast(sentences.join(' ') + more, {
    tone: failed.length > 0 ? 'bad' : 'neutral',
    action: { label: left.length > 0 ? t('Continue') : t('Try again'), run: () => again(rest) },
  });
}

/** `Not possible right now: It is on hold.`; with how many, when they differ. */
export function reasonsOf(failed: BulkOutcome<unknown>['failed']): string {
  const reasons = new Map<string, { hint: string; count: number }>();
  for (const { error } of failed) {
    const { title, hint } = describeError(error);
    reasons.set(title, { hint, count: (reasons.get(title)?.count ?? 0) + 1 });
  }
  return [...reasons]
    .map(([title, { hint, count }]) => `${title}${reasons.size > 1 ? ` (${count})` : ''}: ${hint}`)
    .join(' ');
}
