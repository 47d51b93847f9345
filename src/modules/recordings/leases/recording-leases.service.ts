import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import type { RecordingFeatures } from '../recording.entity.js';
import { RecordingFailed, RecordingTranscribed, type Transcript } from '../recordings.events.js';
import { countStatusChange } from '../usage-counters/usage-counters.queries.js';
import {
  claimRecording,
  type Lease,
  lockProcessing,
  MAX_ATTEMPTS,
  type OverdueRecording,
  releaseRecording,
  renewRecording,
  selectExhausted,
  selectOverdue,
  updateToTerminal,
} from './recording-leases.queries.js';

export type { Lease } from './recording-leases.queries.js';

/** How a transcription ended. */
export type Outcome =
  | { status: 'transcribed'; transcript: Transcript; features: RecordingFeatures; durationMs: number }
  | { status: 'failed'; reason: string };

/**
 * The lease of a recording that is `processing`: claim, renew, then release or finish. Every step is a conditional
 * update, which matches no row once the lease is lost or the recording is deleted.
 */
@Injectable()
export class RecordingLeasesService {
  constructor(
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly env: Env,
  ) {}

  /** Null when there is nothing to do: finished, deleted, claimed by a worker, not due yet, or out of attempts. */
  async claim(id: string): Promise<Lease | null> {
    return await claimRecording(this.database, id, randomUUID(), this.env.leaseSeconds);
  }

  /** Whether the lease is still held. */
  async renew(lease: Lease): Promise<boolean> {
    return await renewRecording(this.database, lease, this.env.leaseSeconds);
  }

  /**
   * Ends the lease without a result.
   * @param delaySeconds time before the next claim.
   * @param attempts 0 when this attempt does not count, as when the worker is asked to stop.
   * @param faults 1 when the audio may be the cause.
   */
  async release(lease: Lease, delaySeconds: number, attempts: 0 | 1, faults: 0 | 1): Promise<void> {
    await releaseRecording(this.database, lease, { delaySeconds, attempts, faults });
  }

  /**
   * Writes the terminal state, the counters and what the listeners of the event write, in one transaction.
   * @returns false when the lease was lost or the recording deleted; then nothing is written.
   */
  async finish(lease: Lease, outcome: Outcome): Promise<boolean> {
    return await this.database.transact((tx) => this.writeOutcome(tx, lease.id, lease.leaseToken, outcome));
  }

  /** Recordings to be enqueued again: their worker died, their delay is over, or their job was lost. */
  async overdue(): Promise<OverdueRecording[]> {
    return await selectOverdue(this.database);
  }

  /** Fails the recordings that have no attempts left. */
  async failExhausted(): Promise<void> {
    const reason = `The transcription was given up after ${MAX_ATTEMPTS} attempts.`;
    for (const { id } of await selectExhausted(this.database)) {
      await this.database.transact((tx) => this.writeOutcome(tx, id, null, { status: 'failed', reason }));
    }
  }

  /** @param leaseToken null for a recording whose lease has expired. */
  private async writeOutcome(tx: Tx, id: string, leaseToken: string | null, outcome: Outcome): Promise<boolean> {
    const before = await lockProcessing(tx, id, leaseToken);
    if (!before) return false;
    const { status } = outcome;
    const recording = await updateToTerminal(
      tx,
      id,
      status === 'transcribed'
        ? { status, features: outcome.features, failureReason: null, durationMs: outcome.durationMs }
        : { status, features: null, failureReason: outcome.reason, durationMs: before.durationMs },
    );
    await countStatusChange(tx, recording, 'processing', status, recording.durationMs - before.durationMs);
    const event =
      status === 'transcribed'
        ? new RecordingTranscribed(recording, outcome.transcript)
        : new RecordingFailed(recording, outcome.reason);
    await this.bus.emit(event, tx);
    return true;
  }
}
