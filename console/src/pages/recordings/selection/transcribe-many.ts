import type { Recording } from 'vnotes';

import { tellOutcome } from '../../../bulk/bulk-outcome';
import { ONCE, runMany } from '../../../bulk/bulk-task';
import { api } from '../../../session/api';

type Send = (id: string) => Promise<unknown>;

/** Transcribes failed recordings once more, and tells how it went. */
export async function retryMany(recordings: readonly Recording[]): Promise<void> {
  const client = api();
  await transcribeMany(recordings, (id) => client.recordings.retry(id, ONCE));
}

/** Asks for another run of each, and tells how it went. */
export async function transcribeMany(recordings: readonly Recording[], send: Send): Promise<void> {
  const outcome = await runMany('Transcribing', recordings, ({ id }) => send(id));
  const all = recordings.length;
  tellOutcome(outcome, {
    success:
      all === 1 ? 'Transcribing the recording again.' : `Transcribing ${all.toLocaleString('en')} recordings again.`,
    participle: 'queued',
    again: (rest) => void transcribeMany(rest, send),
  });
}
