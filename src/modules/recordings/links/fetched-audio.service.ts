import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Env } from '../../../platform/config/env.js';
import { type BrokenRule, InvalidRequestError, QuotaExceededError } from '../../../platform/errors/errors.js';
import { StorageUnavailableError } from '../../../platform/storage/file-system.js';
import { ObjectRemovalsService } from '../../../platform/storage/object-removals.service.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import type { SpoolFile } from '../../../platform/storage/spool.js';
import { type AudioColumns, describeAudio } from '../audio/inspect-audio.js';
import { QuotasService } from '../quotas.service.js';
import { objectKeyOf, Recording } from '../recording.entity.js';
import { checkSeparateChannels } from '../upload/upload-fields.js';
import { LINK_ERRORS } from './link-error.js';
import { type LinkLease, RecordingLinksService } from './recording-links.service.js';

/** Stores the file of a link as an upload is stored: checked, reserved, the object first, then the row. */
@Injectable()
export class FetchedAudioService {
  constructor(
    @InjectRepository(Recording) private readonly recordings: Repository<Recording>,
    private readonly links: RecordingLinksService,
    private readonly quotas: QuotasService,
    private readonly objects: ObjectRemovalsService,
    private readonly objectStore: ObjectStore,
    private readonly env: Env,
  ) {}

  /** Removes what a claim has left whose process has ended, and with it what that has reserved of the quotas. */
  async discardEarlier(lease: LinkLease): Promise<void> {
    if (lease.reservedKey === null) return;
    // The store may still be writing what that process has sent.
    await this.objects.cancel(lease.reservedKey, { mayArriveLate: true });
    await this.links.noteReservation(lease, null);
  }

  /** @throws LinkError, StorageUnavailableError; then nothing of the file is kept. */
  async store(lease: LinkLease, file: SpoolFile, filename: string | null): Promise<void> {
    const { recordingId: id, accountId, claims } = lease;
    const recording = await this.recordings.findOneBy({ id, accountId });
    if (!recording) return;
    const audio = await this.check(file, recording);
    const name = claims === 1 ? id : `${id}-${claims}`;
    const plainKey = objectKeyOf(accountId, recording.createdAt, `${name}.${audio.audioFormat}`);
    const objectKey = await this.objectStore.keyFor(plainKey);
    if (!(await this.links.noteReservation(lease, objectKey))) return;
    const reserved = this.reserve(accountId, objectKey, audio);
    try {
      await this.objectStore.put(objectKey, file, reserved);
      const originalFilename = filename ?? recording.originalFilename;
      if (!(await this.links.complete(lease, { ...audio, objectKey, originalFilename })))
        await this.objects.cancel(objectKey);
    } catch (error) {
      const mayArriveLate = error instanceof StorageUnavailableError && error.mayArriveLate;
      void reserved.then(
        () => this.objects.cancel(objectKey, { mayArriveLate }),
        () => undefined,
      );
      throw error instanceof QuotaExceededError ? LINK_ERRORS.quota(error.quota) : error;
    }
  }

  private async check(file: SpoolFile, { separateChannels }: Recording): Promise<AudioColumns> {
    try {
      const audio = await describeAudio(file, this.env.acceptedFormats);
      if (separateChannels) checkSeparateChannels(audio.channels);
      return audio;
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      const [{ field, reason }] = error.broken as [BrokenRule];
      throw LINK_ERRORS.notAudio(field === 'file' ? reason : `breaks a rule: ${field} ${reason}`);
    }
  }

  private async reserve(
    accountId: string,
    objectKey: string,
    { fileSizeBytes: bytes, durationMs }: AudioColumns,
  ): Promise<void> {
    await this.quotas.reserve({ objectKey, accountId, bytes, durationMs }, await this.quotas.quotasOf(accountId));
  }
}
