import type { Recording } from 'vnotes';

import { tellOutcome } from '../../../bulk/bulk-outcome';
import { ONCE, runMany } from '../../../bulk/bulk-task';
import { t } from '../../../language/texts';
import { api } from '../../../session/api';

type Send = (id: string) => Promise<unknown>;

/** Transcribes failed recordings once more, and tells how it went. */
export async function retryMany(recordings: readonly Recording[]): Promise<void> {
  const client = api();
  await transcribeMany(recordings, (id) => client.recordings.retry(id, ONCE));
}

/** Asks for another run of each, and tells how it went. */
export async function transcribeMany(recordings: readonly Recording[], send: Send): Promise<void> {
  const outcome = await runMany('transcribe', recordings, ({ id }) => send(id));
  const all = recordings.length;
  tellOutcome(outcome, {
    success: t('{all, plural, =1 {Transcribing the recording again.} other {Transcribing # recordings again.}}', {
      all,
    }),
    stopped: 'Stopped: {done, number} of {all, number} recordings queued.',
    failed:
      '{all, plural, =1 {The recording could not be queued.} other {{failed, number} of {all, number} recordings could not be queued.}}',
    again: (rest) => void transcribeMany(rest, send),
  });
}
