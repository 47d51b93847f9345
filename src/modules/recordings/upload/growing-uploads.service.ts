import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Quotas } from '../../../access/plans.js';
import type { Principal } from '../../../access/principal.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import { InvalidRequestError, ServiceUnavailableError } from '../../../platform/errors/errors.js';
import { anyOf } from '../../../platform/http/input/text-rules.js';
import { DiskSpaceService } from '../../../platform/storage/disk-space.service.js';
import {
  changeReservation,
  giveUpReservation,
  insertReservations,
  type ObjectReservation,
} from '../../../platform/storage/object-removals.service.js';
import type { SpoolFile } from '../../../platform/storage/spool.js';
import { type AudioColumns, describeAudio } from '../audio/inspect-audio.js';
import { updateToTerminal } from '../leases/recording-leases.queries.js';
import { type AudioAmount, QuotasService } from '../quotas.service.js';
import { objectKeyOf, type Recording, type UploadSource } from '../recording.entity.js';
import { RecordingAccepted, RecordingDeleted, RecordingFailed, type RecordingSnapshot } from '../recordings.events.js';
import {
  deleteRecording,
  findRecordings,
  insertAccepted,
  lockRecording,
  type RecordingKey,
} from '../recordings.queries.js';
import { refuseScripted } from '../test-accounts/scripted-refusals.js';
import { countDiscarded, countStatusChange } from '../usage-counters/usage-counters.queries.js';
import { attachFile, type StoredFile } from './attach-file.js';
import type { UploadDetails } from './upload-fields.js';
import { cleanFilename } from './upload-form.js';
import { type FileToCome, UploadService } from './upload.service.js';

export type { AudioAmount } from '../quotas.service.js';
export { parseCustomTags } from './custom-tags.js';
export { readCustomTags, readSpeakers } from './upload-fields.js';

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
    private readonly database: DatabaseService,
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
    const reserved = { ...nothing, objectKey: fileKeyOf(recording, 1), accountId };
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

  async exists(key: RecordingKey): Promise<boolean> {
    const [recording] = await findRecordings(this.database, [key]);
    return recording !== null;
  }

  /** Format and properties of a file that is to be stored; null when it is not accepted audio. */
  async describeFile(file: SpoolFile): Promise<AudioColumns | null> {
    try {
      return await describeAudio(file, this.env.acceptedFormats);
    } catch (error) {
      if (error instanceof InvalidRequestError) return null;
      throw error;
    }
  }

  /**
   * The key of the file of a recording.
   * @param attempt each has a key of its own, because the store may still be writing what the one before has sent.
   */
  async fileKeyOf({ accountId, id }: RecordingKey, audioFormat: AudioFormat, attempt: number): Promise<string | null> {
    const [recording] = await findRecordings(this.database, [{ accountId, id }]);
    return recording ? fileKeyOf({ ...recording, audioFormat }, attempt) : null;
  }

  /** Reserves the file for what it is, in place of what was reserved while it grew: what was accepted is stored. */
  async reserveFile(tx: Tx, reservation: ObjectReservation, earlierKey: string): Promise<void> {
    const { objectKey } = reservation;
    if (earlierKey !== objectKey) await giveUpReservation(tx, earlierKey, { mayArriveLate: true });
    await changeReservation(tx, reservation);
  }

  /** The recording, if it is still without its file, and locked until the end of `tx`. */
  async lock(tx: Tx, key: RecordingKey): Promise<Recording | null> {
    const recording = await lockRecording(tx, key, 'any change');
    return recording?.status === 'processing' ? recording : null;
  }

  /** Gives a recording that `lock` has locked its file, which is stored, and has it transcribed. */
  async complete(
    tx: Tx,
    { id, originalFilename }: Recording,
    file: Omit<StoredFile, 'originalFilename'>,
  ): Promise<void> {
    await attachFile(tx, this.bus, id, { ...file, originalFilename });
  }

  /** Deletes a recording that `lock` has locked, and of which nothing came. One that is on hold fails instead. */
  async discard(tx: Tx, recording: Recording): Promise<void> {
    if (await deleteRecording(tx, recording)) {
      await countDiscarded(tx, recording);
      await this.bus.emit(new RecordingDeleted(recording), tx);
      return;
    }
    const failure = { status: 'failed', features: null, failureReason: NOTHING_RECORDED, durationMs: 0 } as const;
    const failed = await updateToTerminal(tx, recording.id, failure);
    await countStatusChange(tx, failed, 'processing', 'failed', 0);
    await this.giveUp(recording, tx);
    await this.bus.emit(new RecordingFailed(failed, NOTHING_RECORDED), tx);
  }

  private async giveUp(recording: RecordingSnapshot, tx: Tx): Promise<void> {
    if (recording.status !== 'processing' || recording.durationMs > 0) return;
    await giveUpReservation(tx, fileKeyOf(recording, 1), { mayArriveLate: false });
  }
}

const NOTHING_RECORDED = 'Nothing was recorded.';

type FileKeyParts = Pick<Recording, 'id' | 'accountId' | 'createdAt' | 'audioFormat'>;

/** The first is reserved from the beginning. */
const fileKeyOf = ({ id, accountId, createdAt, audioFormat }: FileKeyParts, attempt: number): string =>
  objectKeyOf(accountId, createdAt, `${attempt === 1 ? id : `${id}-${attempt}`}.${audioFormat}`);
