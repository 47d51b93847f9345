import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Quotas } from '../../../access/plans.js';
import type { Principal } from '../../../access/principal.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { Env } from '../../../platform/config/env.js';
import type { Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import { InvalidRequestError, ServiceUnavailableError } from '../../../platform/errors/errors.js';
import { anyOf } from '../../../platform/http/input/text-rules.js';
import { DiskSpaceService } from '../../../platform/storage/disk-space.service.js';
import {
  giveUpReservation,
  insertReservations,
  type ObjectReservation,
} from '../../../platform/storage/object-removals.service.js';
import { type AudioAmount, QuotasService } from '../quotas.service.js';
import { objectKeyOf, type Recording, type UploadSource } from '../recording.entity.js';
import { RecordingAccepted, RecordingDeleted, type RecordingSnapshot } from '../recordings.events.js';
import { insertAccepted } from '../recordings.queries.js';
import { refuseScripted } from '../test-accounts/scripted-refusals.js';
import type { UploadDetails } from './upload-fields.js';
import { cleanFilename } from './upload-form.js';
import { type FileToCome, UploadService } from './upload.service.js';

export type { AudioAmount } from '../quotas.service.js';

/** Who begins an upload that grows. */
export interface GrowingUploadContext {
  clientIp: string | null;
  userAgent: string | null;
  source: UploadSource;
}

const DISK_RETRY_SECONDS = 30;

/**
 * Uploads whose row comes first, and whose file is made later of what arrives until then. Until it is there no worker can
 * claim the recording, and its reservation counts for the quotas (D91).
 */
@Injectable()
export class GrowingUploadsService implements OnModuleInit {
  constructor(
    private readonly uploads: UploadService,
    private readonly quotas: QuotasService,
    private readonly bus: EventBus,
    private readonly disk: DiskSpaceService,
    private readonly env: Env,
  ) {}

  onModuleInit(): void {
    // What a deleted recording without a file has reserved counts no more.
    this.bus.on(RecordingDeleted, ({ recording }, tx) => this.giveUp(recording, tx), { mustSucceed: true });
  }

  /**
   * The row of a new recording.
   * @param file its name is cleaned
   * @param details not validated yet
   * @throws InvalidRequestError, ServiceUnavailableError, and for test accounts what the name asks for
   */
  async describe(
    principal: Principal,
    file: { filename: string; audioFormat: AudioFormat },
    details: UploadDetails,
    context: GrowingUploadContext,
  ): Promise<Recording> {
    const { accountId, userId, keyId, quotas, isTest } = principal;
    const { acceptedFormats } = this.env;
    if (!acceptedFormats.includes(file.audioFormat)) {
      const reason = `must be audio in ${anyOf(acceptedFormats)}; this is ${file.audioFormat}`;
      throw new InvalidRequestError({ field: 'file', reason });
    }
    if (!(await this.disk.hasRoom())) {
      this.quotas.countRefusal('free_disk');
      throw new ServiceUnavailableError(DISK_RETRY_SECONDS);
    }
    const toCome: FileToCome = { originalFilename: cleanFilename(file.filename), audioFormat: file.audioFormat };
    const whole = { idempotencyKey: null, repeats: null, acceptedFormats };
    const by = { userId, keyId, quotas, isTest };
    const recording = await this.uploads.describe(accountId, toCome, details, { ...context, ...whole, ...by });
    if (isTest) refuseScripted(recording);
    return recording;
  }

  /**
   * Inserts the recording, and reserves room for its audio.
   * @param wants to be reserved, as far as the quotas have room. @throws QuotaExceededError
   */
  async begin(tx: Tx, recording: Recording, wants: AudioAmount, quotas: Quotas): Promise<ObjectReservation> {
    const { accountId, objectKey } = recording;
    const nothing = { bytes: 0, durationMs: 0 };
    const reserved = { ...nothing, objectKey: laterKeyOf(recording), accountId };
    const reservation = await this.quotas.grow(tx, reserved, { needs: nothing, wants }, quotas);
    await insertReservations(tx, [{ ...nothing, objectKey, accountId }]);
    const event = new RecordingAccepted(recording);
    await insertAccepted(tx, recording, this.bus.writesFor(event, tx));
    await this.bus.emit(event, tx);
    return reservation;
  }

  /** As `QuotasService.grow`, by the present quotas of the account. */
  async grow(
    tx: Tx,
    reserved: ObjectReservation,
    amounts: { needs: AudioAmount; wants: AudioAmount },
  ): Promise<ObjectReservation> {
    return await this.quotas.grow(tx, reserved, amounts);
  }

  private async giveUp(recording: RecordingSnapshot, tx: Tx): Promise<void> {
    if (recording.status !== 'processing' || recording.durationMs > 0) return;
    await giveUpReservation(tx, laterKeyOf(recording), { mayArriveLate: false });
  }
}

/** The key that is reserved for the file of a recording that has none yet. */
const laterKeyOf = ({ id, accountId, createdAt, audioFormat }: RecordingSnapshot): string =>
  objectKeyOf(accountId, createdAt, `${id}.${audioFormat}`);
