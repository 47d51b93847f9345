import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import type { RecordingFeatures } from '../recording.entity.js';
import { RecordingFailed, RecordingTranscribed, type Transcript } from '../recordings.events.js';
import { RecordingSearchService } from '../search/recording-search.service.js';
import { countStatusChange } from '../usage-counters/usage-counters.queries.js';
import { claimFairest, MIN_COST_MS, type UnworkableRecordings } from './recording-claims.queries.js';
import {
  type Lease,
  lockProcessing,
  MAX_ATTEMPTS,
  releaseRecording,
  renewRecording,
  selectExhausted,
  updateToTerminal,
} from './recording-leases.queries.js';
import { TranscriptionShare } from './transcription-share.entity.js';

export type { Lease } from './recording-leases.queries.js';

const MIN_CORRECTION_MS = 1000;

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
    @InjectRepository(TranscriptionShare) private readonly shares: Repository<TranscriptionShare>,
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly search: RecordingSearchService,
    private readonly env: Env,
  ) {}

  /**
   * Claims the oldest due recording of the account that has had the least of the engines (D33).
   * @param exceptAccounts accounts that are not considered.
   * @param except what the worker has no engine for.
   * @returns null when nothing is due.
   */
  async claimNext(
    exceptAccounts: readonly string[] = [],
    except: UnworkableRecordings = { ofSharedEngines: false, others: [] },
  ): Promise<Lease | null> {
    return await claimFairest(this.database, {
      leaseToken: randomUUID(),
      leaseSeconds: this.env.leaseSeconds,
      exceptAccounts,
      except,
    });
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

  /** Undoes a claim: the recording has its old place, and its account is not charged. */
  async putBack(lease: Lease): Promise<void> {
    await releaseRecording(this.database, lease, { delaySeconds: 0, attempts: 0, faults: 0 });
    const cost = Math.max(lease.durationMs, MIN_COST_MS);
    // An error is of no consequence: it affects one turn of the account.
    await this.shares.decrement({ accountId: lease.accountId }, 'virtualEnd', cost).catch(() => undefined);
  }

  /**
   * Writes the terminal state, the counters, what is searched and what the listeners of the event write, in one transaction.
   * @returns false when the lease was lost or the recording deleted; then nothing is written.
   */
  async finish(lease: Lease, outcome: Outcome): Promise<boolean> {
    const written = await this.database.transact((tx) => this.writeOutcome(tx, lease.id, lease.leaseToken, outcome));
    if (written && outcome.status === 'transcribed') await this.correctShare(lease, outcome.durationMs);
    return written;
  }

  /** Fails the recordings that have no attempts left. */
  async failExhausted(): Promise<void> {
    const reason = `The transcription was given up after ${MAX_ATTEMPTS} attempts.`;
    for (const { id } of await selectExhausted(this.database)) {
      await this.database.transact((tx) => this.writeOutcome(tx, id, null, { status: 'failed', reason }));
    }
  }

  /** Its header may have told another length. An error is of no consequence: it affects one turn of the account. */
  private async correctShare({ accountId, durationMs }: Lease, decodedMs: number): Promise<void> {
    const difference = decodedMs - durationMs;
    if (Math.abs(difference) < MIN_CORRECTION_MS) return;
    await this.shares.increment({ accountId }, 'virtualEnd', difference).catch(() => undefined);
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
    if (status === 'transcribed') await this.search.write(tx, recording, outcome.transcript.text);
    const event =
      status === 'transcribed'
        ? new RecordingTranscribed(recording, outcome.transcript)
        : new RecordingFailed(recording, outcome.reason);
    await this.bus.emit(event, tx);
    return true;
  }
}
