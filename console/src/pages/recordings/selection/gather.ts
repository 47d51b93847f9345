import type { Recording } from 'vnotes';

import { showTask } from '../../../bulk/bulk-task';
import { describeError } from '../../../components/describe-error';
import { toast } from '../../../components/toast';
import { t } from '../../../language/texts';
import { api } from '../../../session/api';
import { type ListQuery, requestOf } from '../list-query';

/** As many as the service lists at once. */
const LISTED_AT_ONCE = 100;
/** A 429 says how long to wait, and a free account has few requests a minute. */
const UNTIL_ACCEPTED = { maxRetries: 30 };

/**
 * Lists all that match.
 * @param total about how many
 * @returns null when the person stopped it or it failed, which is told
 */
export async function gather(query: ListQuery, total: number): Promise<Recording[] | null> {
  const { signal, advance, end } = showTask('select', total);
  // The newest first, because not every order goes to the end of a large list.
  const request = { ...requestOf(query), order: undefined, page: 0, limit: LISTED_AT_ONCE, include: 'title' };
  const found = new Map<string, Recording>();
  try {
    for await (const recording of api().recordings.list(request, { ...UNTIL_ACCEPTED, signal })) {
      found.set(recording.id, recording);
      if (found.size % LISTED_AT_ONCE === 0) advance(Math.min(found.size, total));
    }
    return [...found.values()];
  } catch (error) {
    if (!signal.aborted) tellFailure(error);
    return null;
  } finally {
    end();
  }
}

function tellFailure(error: unknown): void {
  const { title, hint } = describeError(error);
  toast(t('Could not select all. {title}: {hint}', { title, hint }), { tone: 'bad' });
}
