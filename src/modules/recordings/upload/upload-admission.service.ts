import { Injectable } from '@nestjs/common';
import type { Quotas } from '../../../access/plans.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { ServiceUnavailableError } from '../../../platform/errors/errors.js';
import { DiskSpaceService } from '../../../platform/storage/disk-space.service.js';
import { findIdempotencyKey, KEPT_SECONDS } from './idempotency.queries.js';
import { QuotasService } from '../quotas.service.js';
import type { ReleaseSlot } from '../../../platform/rate-limit/shared-slots.js';

/** An upload whose body has not been read. */
export interface AnnouncedUpload {
  accountId: string;
  quotas: Quotas;
  /** The end user of an access token. */
  userId: string | null;
  idempotencyKey: string | null;
  /** Whether it may be recognised as a repeat once its body was read, also without a key. */
  mayRepeat: boolean;
  /** Bytes that the file has at least; 0 when unknown. */
  minBytes: number;
}

const DISK_RETRY_SECONDS = 30;

/** Refuses uploads before their body is read, where it is certain that they cannot be stored (D32). */
@Injectable()
export class UploadAdmissionService {
  constructor(
    private readonly database: DatabaseService,
    private readonly quotas: QuotasService,
    private readonly disk: DiskSpaceService,
  ) {}

  /**
   * Takes one of the slots of the account. The caller frees it when the upload has ended, however it did.
   * @throws ServiceUnavailableError, ConcurrentUploadsError, QuotaExceededError
   */
  async admit(upload: AnnouncedUpload): Promise<ReleaseSlot> {
    if (!(await this.disk.hasRoom())) {
      this.quotas.countRefusal('free_disk');
      throw new ServiceUnavailableError(DISK_RETRY_SECONDS);
    }
    const release = await this.quotas.takeUploadSlot(upload.accountId, upload.quotas.concurrentUploads);
    try {
      await this.refuseFull(upload);
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** An upload that was accepted before is answered again, whatever the quotas. */
  private async refuseFull({ accountId, quotas, userId, idempotencyKey: key, mayRepeat, minBytes }: AnnouncedUpload) {
    // Whether it is a repeat is known when its body was read. What is stored is compared with the quotas in any case.
    if (key === null && mayRepeat) return;
    const refusal = await this.quotas.findRefusal(accountId, quotas, minBytes);
    if (!refusal) return;
    const caller = { accountId, identity: userId ?? '' };
    if (key !== null && (await findIdempotencyKey(this.database, { ...caller, key }, KEPT_SECONDS))) return;
    this.quotas.refuse(refusal);
  }
}
