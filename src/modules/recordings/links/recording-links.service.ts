import { randomUUID } from 'node:crypto';
import { InjectQueue } from '@nestjs/bull';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { renewLease } from '../../../platform/database/leases.queries.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { SecretsService } from '../../../platform/secrets.service.js';
import { DiskSpaceService } from '../../../platform/storage/disk-space.service.js';
import { updateToTerminal } from '../leases/recording-leases.queries.js';
import { linkForgotten } from '../recordings.service.js';
import { RecordingAccepted, RecordingFailed } from '../recordings.events.js';
import { countStatusChange } from '../usage-counters/usage-counters.queries.js';
import { attachFile, type StoredFile } from '../upload/attach-file.js';
import { LINK_ERRORS } from './link-error.js';
import {
  claimLink,
  deleteLink,
  deleteOldLinks,
  endLink,
  insertLink,
  type LinkLease,
  LINKS,
  lockLinked,
  noteReservation,
  releaseLink,
  reopenLink,
} from './recording-links.queries.js';

export type { LinkLease } from './recording-links.queries.js';

export const LINK_QUEUE = 'links';

/** Names the recording whose link is due. */
export type LinkJob = { recordingId: string };

/** A link whose fetch has failed is kept this long for a retry. */
const KEPT_DAYS = 7;

/** The life of a link: due, leased by a fetcher, then replaced by the file, or failed. Every step is a conditional update. */
@Injectable()
export class RecordingLinksService implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly secrets: SecretsService,
    @InjectQueue(LINK_QUEUE) private readonly jobs: JobQueue<LinkJob>,
    private readonly disk: DiskSpaceService,
    private readonly env: Env,
  ) {}

  onModuleInit(): void {
    this.bus.on(RecordingAccepted, (event, tx) => this.accept(event, tx), { mustSucceed: true });
  }

  /** Claims a due link of the account with the fewest fetches under way. @returns null when none is due, or no room for it. */
  async claim(exceptAccounts: readonly string[]): Promise<LinkLease | null> {
    // As an upload is refused then. The links stay due.
    if (!(await this.disk.hasRoom())) return null;
    const { leaseSeconds } = this.env;
    return await claimLink(this.database, { leaseToken: randomUUID(), leaseSeconds, exceptAccounts });
  }

  /** Whether the lease is still held. */
  async renew(lease: LinkLease): Promise<boolean> {
    return await renewLease(this.database, LINKS, lease, this.env.leaseSeconds);
  }

  /** Ends the lease without a result. By default the attempt does not count. */
  async release(
    lease: LinkLease,
    { delaySeconds = 0, attempts = 0 }: { delaySeconds?: number; attempts?: 0 | 1 } = {},
  ): Promise<void> {
    await releaseLink(this.database, lease, { delaySeconds, attempts });
  }

  /** @throws LinkError when its SECRET_KEY is lost. */
  urlOf({ recordingId, encryptedUrl }: LinkLease): string {
    try {
      return this.secrets.decrypt(encryptedUrl, recordingId);
    } catch {
      throw LINK_ERRORS.forgotten();
    }
  }

  /** Notes the key of the object that is about to be reserved. @returns whether the lease is still held. */
  async noteReservation(lease: LinkLease, objectKey: string | null): Promise<boolean> {
    return await noteReservation(this.database, lease, objectKey);
  }

  /**
   * Gives the recording its file, which is stored under a reserved key, and has it transcribed.
   * @returns false when the lease was lost or the recording deleted; then nothing is written.
   */
  async complete(lease: LinkLease, file: StoredFile): Promise<boolean> {
    return await this.database.transact(async (tx) => {
      if (!(await lockLinked(tx, lease))) return false;
      await deleteLink(tx, lease.recordingId);
      await attachFile(tx, this.bus, lease.recordingId, file);
      return true;
    });
  }

  /** Fails the recording. @returns as `complete`. */
  async fail(lease: LinkLease, reason: string): Promise<boolean> {
    return await this.database.transact(async (tx) => {
      const before = await lockLinked(tx, lease);
      if (!before) return false;
      const ended = { status: 'failed', features: null, failureReason: reason, durationMs: 0 } as const;
      const recording = await updateToTerminal(tx, before.id, ended);
      await endLink(tx, before.id);
      await countStatusChange(tx, recording, 'processing', 'failed', 0);
      await this.bus.emit(new RecordingFailed(recording, reason), tx);
      return true;
    });
  }

  /** Forgets links whose fetch failed long ago. @returns how many, at most `count`. */
  async forgetOld(count: number): Promise<number> {
    return await deleteOldLinks(this.database, KEPT_DAYS, count);
  }

  private async accept({ recording, upload, needsLink }: RecordingAccepted, tx: Tx): Promise<void> {
    const { id: recordingId, accountId, run } = recording;
    if (upload?.url) {
      await insertLink(tx, { recordingId, accountId, encryptedUrl: this.secrets.encrypt(upload.url, recordingId) });
    } else if (!needsLink) {
      return;
    } else if (!(await reopenLink(tx, recordingId, accountId))) {
      // It was forgotten a moment ago. Without it the recording would be processing for ever.
      throw linkForgotten();
    }
    tx.afterCommit(() => void this.jobs.enqueue({ recordingId }, { deduplicationKey: run }));
  }
}
