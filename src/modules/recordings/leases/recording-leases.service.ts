import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import { Recording, type RecordingFeatures } from '../recording.entity.js';
import { RecordingFailed, RecordingTranscribed, type Transcript } from '../recordings.events.js';
import { countStatusChange } from '../usage-counters/usage-counters.js';

/** A worker's right to finish a recording, for as long as it keeps renewing it. */
export type Lease = Pick<
  Recording,
  | 'id'
  | 'accountId'
  | 'objectKey'
  | 'audioFormat'
  | 'sampleRate'
  | 'channels'
  | 'durationMs'
  | 'language'
  | 'attempt'
  | 'faults'
> & { leaseToken: string };

/** What a recording became. */
export type Outcome =
  | { status: 'transcribed'; transcript: Transcript; features: RecordingFeatures; durationMs: number }
  | { status: 'failed'; reason: string };

/** A recording that is still owed a transcription though nobody is at it. */
export type OverdueRecording = Pick<Recording, 'id' | 'attempt'>;

/** Claims of one run, whoever was to blame for their end. */
const MAX_ATTEMPTS = 20;
/** A recording is rung for at upload; one that nobody has claimed after this long was forgotten. */
const FORGOTTEN_SECONDS = 10;
/** Recordings that one round of the reconciler takes up. */
const BATCH = 1000;

/**
 * The life of a recording while it is `processing`. Every step is a conditional update: who holds no lease any more, or
 * whose recording was deleted, hits no row.
 */
@Injectable()
export class RecordingLeasesService {
  constructor(
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly env: Env,
  ) {}

  /** Null when there is nothing to do: done, deleted, in somebody's hands, not due yet, or tried too often. */
  async claim(id: string): Promise<Lease | null> {
    const [lease] = await this.database.query<Lease>(
      `UPDATE recordings r SET lease_token = $2, attempt = attempt + 1,
         lease_until = clock_timestamp() + make_interval(secs => $3)
       WHERE id = $1 AND status = 'processing' AND (lease_until IS NULL OR lease_until < now())
         AND attempt < ${MAX_ATTEMPTS}
       RETURNING ${this.columns}`,
      [id, randomUUID(), this.env.leaseSeconds],
    );
    return lease ?? null;
  }

  /** Whether the lease is still ours. */
  async renew({ id, leaseToken }: Lease): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE recordings SET lease_until = clock_timestamp() + make_interval(secs => $3)
       WHERE id = $1 AND status = 'processing' AND lease_token = $2 RETURNING id`,
      [id, leaseToken, this.env.leaseSeconds],
    );
    return rows.length > 0;
  }

  /**
   * Gives the recording back unfinished.
   * @param delaySeconds nobody may claim it before.
   * @param attempts 0 takes the attempt back, as when the worker was asked to stop.
   * @param faults 1 when the audio itself may be to blame.
   */
  async release({ id, leaseToken }: Lease, delaySeconds: number, attempts: 0 | 1, faults: 0 | 1): Promise<void> {
    await this.database.query(
      `UPDATE recordings SET lease_token = NULL, lease_until = now() + make_interval(secs => $3),
         attempt = attempt - 1 + $4::int, faults = faults + $5::int
       WHERE id = $1 AND status = 'processing' AND lease_token = $2`,
      [id, leaseToken, delaySeconds, attempts, faults],
    );
  }

  /**
   * Reaches the terminal state: state, counts and whatever listens to the event, in one transaction.
   * @returns false when the lease was lost or the recording deleted; then nothing is written.
   */
  async finish(lease: Lease, outcome: Outcome): Promise<boolean> {
    return await this.database.transact(
      async (tx) => (await this.settle(tx, lease.id, lease.leaseToken, outcome)) !== null,
    );
  }

  /** Recordings that must be rung for again: their worker vanished, their time-out is over, or the ring got lost. */
  async owed(): Promise<OverdueRecording[]> {
    return await this.database.query<OverdueRecording>(
      `SELECT id, attempt FROM recordings
       WHERE status = 'processing'
         AND coalesce(lease_until, updated_at + make_interval(secs => ${FORGOTTEN_SECONDS})) < now()
       ORDER BY created_at LIMIT ${BATCH}`,
    );
  }

  /** Fails what has been tried too often. */
  async failExhausted(): Promise<void> {
    const hopeless = await this.database.query<{ id: string }>(
      `SELECT id FROM recordings WHERE status = 'processing' AND attempt >= ${MAX_ATTEMPTS} AND lease_until < now()`,
    );
    const outcome: Outcome = {
      status: 'failed',
      reason: `The transcription was given up after ${MAX_ATTEMPTS} attempts.`,
    };
    for (const { id } of hopeless) await this.database.transact((tx) => this.settle(tx, id, null, outcome));
  }

  /** @param token null: of a recording that nobody holds. */
  private async settle(tx: Tx, id: string, token: string | null, outcome: Outcome): Promise<Recording | null> {
    const [before] = await tx.query<Pick<Recording, 'durationMs'>>(
      `SELECT duration_ms AS "durationMs" FROM recordings
       WHERE id = $1 AND status = 'processing'
         AND CASE WHEN $2::uuid IS NULL THEN lease_until < now() ELSE lease_token = $2 END FOR UPDATE`,
      [id, token],
    );
    if (!before) return null;
    const done = outcome.status === 'transcribed' ? outcome : null;
    const [recording] = await tx.query<Recording>(
      `UPDATE recordings r SET status = $2, features = $3, failure_reason = $4, duration_ms = $5,
         lease_token = NULL, lease_until = NULL, processed_at = now(), updated_at = now()
       WHERE id = $1 RETURNING ${this.columns}`,
      [
        id,
        outcome.status,
        done && JSON.stringify(done.features),
        outcome.status === 'failed' ? outcome.reason : null,
        done?.durationMs ?? before.durationMs,
      ],
    );
    if (!recording) return null;
    await countStatusChange(tx, recording, 'processing', outcome.status, recording.durationMs - before.durationMs);
    await this.bus.emit(
      outcome.status === 'transcribed'
        ? new RecordingTranscribed(recording, outcome.transcript)
        : new RecordingFailed(recording, outcome.reason),
      tx,
    );
    return recording;
  }

  private get columns(): string {
    return this.database.columns(Recording, 'r');
  }
}
