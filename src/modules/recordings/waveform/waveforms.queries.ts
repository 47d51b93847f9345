import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import type { Recording } from '../recording.entity.js';
import type { RecordingKey } from '../recordings.queries.js';
import type { Waveform } from './waveform.entity.js';

/** The first one stays: the audio of a recording never changes. SQL, because of the conflict. */
export async function insertWaveform(tx: Tx, { recordingId, durationMs, peaks }: Waveform): Promise<void> {
  await tx.prepared(
    'INSERT INTO waveforms (recording_id, duration_ms, peaks) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [recordingId, durationMs, peaks],
  );
}

/** A recording, and its waveform, or nulls where it has none. */
export type RecordingWaveform = Pick<Recording, 'status' | 'rerun'> & {
  durationMs: number | null;
  peaks: Buffer | null;
};

/** Null when the account has no such recording. SQL, because of the outer join. */
export async function findWaveform(
  runner: SqlRunner,
  { accountId, id }: RecordingKey,
): Promise<RecordingWaveform | null> {
  const [row] = await runner.prepared<RecordingWaveform>(
    `SELECT r.status, r.rerun, w.duration_ms AS "durationMs", w.peaks
     FROM recordings r LEFT JOIN waveforms w ON w.recording_id = r.id WHERE r.id = $2 AND r.account_id = $1`,
    [accountId, id],
  );
  return row ?? null;
}
