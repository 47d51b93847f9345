import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DatabaseService, type SqlRunner, type Tx } from '../../../platform/database/database.service.js';
import { findOrFail } from '../../../platform/database/find-or-fail.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { RecordingInclusionsService } from '../recording-inclusions.service.js';
import type { Recording } from '../recording.entity.js';
import type { RecordingKey } from '../recordings.queries.js';
import type { Waveform } from './waveform.entity.js';
import { presentWaveform } from './waveform.presenter.js';

/** There is no waveform yet, or there will be none unless something is done. */
class NoWaveformError extends NotFoundError {
  constructor(
    override readonly code: 'WAVEFORM_NOT_READY' | 'WAVEFORM_NOT_AVAILABLE',
    override readonly message: string,
  ) {
    super('waveform');
  }
}

export const waveformNotReady = () =>
  new NoWaveformError(
    'WAVEFORM_NOT_READY',
    'The waveform is made while the recording is transcribed, which has not ended. Try again later.',
  );
export const waveformNotAvailable = () =>
  new NoWaveformError(
    'WAVEFORM_NOT_AVAILABLE',
    'This recording has no waveform. POST /v1/recordings/{recording_id}/transcribe makes one, while there is its audio.',
  );

/** Waveforms of recordings (D52), which the worker writes with their transcripts. */
@Injectable()
export class WaveformsService implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly inclusions: RecordingInclusionsService,
  ) {}

  onModuleInit(): void {
    this.inclusions.register('waveform', async ({ accountId, id }) => {
      const found = await findWaveform(this.database, { accountId, id });
      const waveform = found && waveformOf(id, found);
      return waveform && presentWaveform(waveform);
    });
  }

  /** @throws NotFoundError when there is no such recording, NoWaveformError when it has no waveform. */
  async get(accountId: string, recordingId: string): Promise<Waveform> {
    const found = await findOrFail('recording', recordingId, (id) => findWaveform(this.database, { accountId, id }));
    const waveform = waveformOf(recordingId, found);
    if (waveform) return waveform;
    throw found.status === 'processing' || found.rerun !== null ? waveformNotReady() : waveformNotAvailable();
  }
}

function waveformOf(recordingId: string, { durationMs, peaks }: RecordingWaveform): Waveform | null {
  return peaks === null || durationMs === null ? null : { recordingId, durationMs, peaks };
}

/** The first one stays: the audio of a recording never changes. SQL, because of the conflict. */
export async function insertWaveform(tx: Tx, { recordingId, durationMs, peaks }: Waveform): Promise<void> {
  await tx.prepared(
    'INSERT INTO waveforms (recording_id, duration_ms, peaks) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [recordingId, durationMs, peaks],
  );
}

/** A recording, and its waveform, or nulls where it has none. */
type RecordingWaveform = Pick<Recording, 'status' | 'rerun'> & {
  durationMs: number | null;
  peaks: Buffer | null;
};

/** Null when the account has no such recording. SQL, because of the outer join. */
async function findWaveform(runner: SqlRunner, { accountId, id }: RecordingKey): Promise<RecordingWaveform | null> {
  const [row] = await runner.prepared<RecordingWaveform>(
    `SELECT r.status, r.rerun, w.duration_ms AS "durationMs", w.peaks
     FROM recordings r LEFT JOIN waveforms w ON w.recording_id = r.id WHERE r.id = $2 AND r.account_id = $1`,
    [accountId, id],
  );
  return row ?? null;
}
