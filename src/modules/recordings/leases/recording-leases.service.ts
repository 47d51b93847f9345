import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import type { Recording, RecordingFeatures } from '../recording.entity.js';
import { RecordingFailed, RecordingTranscribed, type Transcript } from '../recordings.events.js';
import { RecordingSearchService } from '../search/recording-search.service.js';
import { QUOTA_NAMES } from '../../../access/plans.js';
import { QuotasService } from '../quotas.service.js';
import { countDurationChange, countRerunEnd, countStatusChange } from '../usage-counters/usage-counters.queries.js';
import {
  claimBackground,
  claimFairest,
  MIN_COST_MS,
  type NewLease,
  type UnworkableRecordings,
} from './recording-claims.queries.js';
import {
  endFailedRerun,
  type Lease,
  lockUnfinished,
  MAX_ATTEMPTS,
  type UnfinishedRecording,
  type Release,
  releaseRecording,
  renewRecording,
  selectExhausted,
  updateDuration,
  updateToTerminal,
} from './recording-leases.queries.js';
import { insertWaveform } from '../waveform/waveforms.service.js';
import { TranscriptionShare } from './transcription-share.entity.js';

export type { HeardLanguage } from '../recording.entity.js';
export { spokenKey } from './recording-claims.queries.js';
export type { Lease } from './recording-leases.queries.js';
export { type Script, scriptOf } from '../test-accounts/script.js';

/** Whether it waits behind all others, and uses nobody's share. */
export const isBackground = ({ rerun }: Pick<Lease, 'rerun'>): boolean => rerun === 'background' || rerun === 'quiet';

const MIN_CORRECTION_MS = 1000;

/** How a transcription ended. */
export type Outcome =
  | {
      status: 'transcribed';
      transcript: Transcript;
      features: RecordingFeatures;
      durationMs: number;
      /** One byte for each point of the waveform. */
      peaks: Buffer;
    }
  | { status: 'failed'; reason: string };

/**
 * The lease of a recording that is `processing`, or to be transcribed again: claim, renew, then release or finish. Every
 * step is a conditional update, which matches no row once the lease is lost or the recording is deleted.
 */
@Injectable()
export class RecordingLeasesService {
  constructor(
    @InjectRepository(TranscriptionShare) private readonly shares: Repository<TranscriptionShare>,
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly search: RecordingSearchService,
    private readonly quotas: QuotasService,
    private readonly env: Env,
  ) {}

  /**
   * Claims the oldest due recording of the account that has had the least of the engines (D33).
   * @param held recordings that the worker holds: their leases may have expired while Postgres was silent.
   * @param exceptAccounts accounts that are not considered.
   * @param except what the worker has no engine for.
   * @returns null when nothing is due.
   */
  async claimNext({
    held = [],
    exceptAccounts = [],
    except,
  }: {
    held?: readonly string[];
    exceptAccounts?: readonly string[];
    except?: UnworkableRecordings;
  } = {}): Promise<Lease | null> {
    return await claimFairest(this.database, { ...this.newLease(held), exceptAccounts, ...(except && { except }) });
  }

  /**
   * Claims the next of those that wait behind all others.
   * @param held as in `claimNext`.
   * @returns null when there is none.
   */
  async claimBackground(held: readonly string[] = []): Promise<Lease | null> {
    return await claimBackground(this.database, this.newLease(held));
  }

  /** Whether the lease is still held. */
  async renew(lease: Lease): Promise<boolean> {
    return await renewRecording(this.database, lease, this.env.leaseSeconds);
  }

  /** Ends the lease without a result. By default the attempt does not count, and the recording can be claimed at once. */
  async release(lease: Lease, { delaySeconds = 0, attempts = 0, faults = 0 }: Partial<Release> = {}): Promise<void> {
    await releaseRecording(this.database, lease, { delaySeconds, attempts, faults });
  }

  /** Undoes a claim: the recording has its old place, and its account is not charged. */
  async putBack(lease: Lease): Promise<void> {
    await this.release(lease);
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
    if (written && !isBackground(lease) && outcome.status === 'transcribed') {
      // Each channel was transcribed.
      await this.correctShare(lease, outcome.durationMs * (outcome.features.channels ?? 1));
    }
    return written;
  }

  /**
   * Counts the decoded length in place of what the upload said, in the month and in the queue, before an engine is used. Where
   * the month has no room for what was not counted, the recording fails, and its length stays as it was counted (D32).
   * @returns the lease with the length; null when it has ended, or the lease was lost.
   */
  async settleLength(lease: Lease, durationMs: number): Promise<Lease | null> {
    const isSettled = await this.database.transact((tx) => this.writeLength(tx, lease, durationMs));
    if (!isSettled) return null;
    if (!isBackground(lease)) await this.correctShare(lease, durationMs);
    return { ...lease, durationMs };
  }

  /** Fails the recordings that have no attempts left. @returns how many. */
  async failExhausted(): Promise<number> {
    const reason = givenUp();
    let failed = 0;
    for (const { id } of await selectExhausted(this.database)) {
      const outcome = { status: 'failed', reason } as const;
      if (await this.database.transact((tx) => this.writeOutcome(tx, id, null, outcome))) failed += 1;
    }
    return failed;
  }

  private newLease(held: readonly string[]): NewLease {
    return { leaseToken: randomUUID(), leaseSeconds: this.env.leaseSeconds, held };
  }

  /** The length in its header may have been wrong. An error is of no consequence: it affects one turn of the account. */
  private async correctShare({ accountId, durationMs }: Lease, decodedMs: number): Promise<void> {
    const difference = decodedMs - durationMs;
    if (Math.abs(difference) < MIN_CORRECTION_MS) return;
    await this.shares.increment({ accountId }, 'virtualEnd', difference).catch(() => undefined);
  }

  private async writeLength(tx: Tx, { id, accountId, leaseToken }: Lease, durationMs: number): Promise<boolean> {
    const before = await lockUnfinished(tx, id, leaseToken);
    if (!before) return false;
    const change = durationMs - before.durationMs;
    // The length of one that is transcribed again was decoded.
    if (change === 0 || before.rerun !== null) return true;
    if (change > 0 && !(await this.quotas.fitsMonth(tx, accountId, before.createdAt, change))) {
      await this.writeFailure(tx, id, before, exceedsMonth(durationMs));
      return false;
    }
    await countDurationChange(tx, await updateDuration(tx, id, durationMs), change);
    return true;
  }

  /** @param leaseToken null for a recording whose lease has expired. */
  private async writeOutcome(tx: Tx, id: string, leaseToken: string | null, outcome: Outcome): Promise<boolean> {
    const before = await lockUnfinished(tx, id, leaseToken);
    if (!before) return false;
    if (outcome.status === 'transcribed') await this.writeTranscript(tx, id, before, outcome);
    else if (before.rerun === null) await this.writeFailure(tx, id, before, outcome.reason);
    else await this.endRerun(tx, id, before, outcome.reason);
    return true;
  }

  private async writeTranscript(
    tx: Tx,
    id: string,
    before: UnfinishedRecording,
    { transcript, features, durationMs, peaks }: Outcome & { status: 'transcribed' },
  ): Promise<void> {
    const ended = { status: 'transcribed', features, failureReason: null, durationMs } as const;
    const recording = await updateToTerminal(tx, id, ended);
    await countEnd(tx, recording, before);
    await insertWaveform(tx, { recordingId: id, durationMs, peaks });
    await this.search.write(tx, recording, transcript.text);
    await this.bus.emit(new RecordingTranscribed(recording, transcript, before.rerun), tx);
  }

  private async writeFailure(tx: Tx, id: string, before: UnfinishedRecording, reason: string): Promise<void> {
    const ended = { status: 'failed', features: null, failureReason: reason, durationMs: before.durationMs } as const;
    const recording = await updateToTerminal(tx, id, ended);
    await countEnd(tx, recording, before);
    await this.bus.emit(new RecordingFailed(recording, reason), tx);
  }

  /** The recording keeps its text and its status (D49). */
  private async endRerun(tx: Tx, id: string, before: UnfinishedRecording, reason: string): Promise<void> {
    const recording = await endFailedRerun(tx, id);
    await countEnd(tx, recording, before);
    const message = `Transcribing again failed, and the present text stays: ${reason}`;
    await this.bus.emit(new RecordingFailed({ ...recording, processedAt: new Date() }, message, before.rerun), tx);
  }
}

export const givenUp = (): string => `The transcription was given up after ${MAX_ATTEMPTS} attempts.`;

export const exceedsMonth = (durationMs: number): string =>
  `The audio is ${Math.ceil(durationMs / 1000)} s long, longer than its file says, and does not fit into the quota ` +
  `${QUOTA_NAMES.audioSecondsPerMonth}.`;

async function countEnd(tx: Tx, recording: Recording, { rerun, durationMs }: UnfinishedRecording): Promise<void> {
  const change = recording.durationMs - durationMs;
  if (rerun === null) await countStatusChange(tx, recording, 'processing', recording.status, change);
  else await countRerunEnd(tx, recording, rerun, change);
}
