import type { Recording, VoiceNotes } from 'vnotes';

import { runMany } from '../../bulk/bulk-task';
import { describeError } from '../../components/describe-error';
import { toast } from '../../components/toast';
import { client } from '../../session/session';

/** Transcribes failed recordings once more, and tells how it went. */
export async function retryMany(recordings: readonly Recording[]): Promise<void> {
  const api = client.peek() as VoiceNotes;
  const { failed, error } = await runMany('Retrying', recordings, ({ id }) =>
    api.recordings.retry(id, { maxRetries: 30 }),
  );
  const all = recordings.length;
  if (failed.length === 0) {
    toast(all === 1 ? 'Transcribing the recording again.' : `Transcribing ${all} recordings again.`);
    return;
  }
  const { title, hint } = describeError(error);
  const again = () => void retryMany(failed);
  toast(`${failed.length} of ${all} could not be retried. ${title}: ${hint}`, {
    tone: 'bad',
    action: { label: 'Try again', run: again },
  });
}
