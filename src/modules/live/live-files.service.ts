import { Injectable } from '@nestjs/common';
import { LeaseLostError } from '../../platform/concurrency/lease-loops.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { lockLeased } from '../../platform/database/leases.queries.js';
import { repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { ObjectRemovalsService } from '../../platform/storage/object-removals.service.js';
import { ObjectStore } from '../../platform/storage/object-store.js';
import { Spool, type SpoolFile } from '../../platform/storage/spool.js';
import { GrowingUploadsService } from '../recordings/upload/growing-uploads.service.js';
import {
  ASSEMBLIES,
  type AssemblyLease,
  deleteAssembled,
  deleteAudio,
  deleteLive,
  markAssembled,
  noteFileKey,
  selectLeftAudio,
} from './live-assemblies.queries.js';
import { FILE_FORMATS, LiveRecordingsService } from './live-recordings.service.js';
import { wavHeader } from './wav-header.js';

/** Read and written at a time. */
const CHUNK_BYTES = 2 ** 20;
/** Parts that one statement deletes. */
const BATCH = 1000;
/** Recordings whose parts one round of the reconciler deletes. */
const MAX_LEFT = 20;

/** Of what is no audio that can be told. */
const UNKNOWN = { durationMs: 0, sampleRate: null, channels: null, bitRate: null, audioCodec: null } as const;

/** Makes one file of the parts of a live recording, and deletes them afterwards. */
@Injectable()
export class LiveFilesService {
  constructor(
    private readonly live: LiveRecordingsService,
    private readonly uploads: GrowingUploadsService,
    private readonly database: DatabaseService,
    private readonly objects: ObjectRemovalsService,
    private readonly objectStore: ObjectStore,
    private readonly spool: Spool,
  ) {}

  /** @throws LeaseLostError, StorageUnavailableError, the reason of the signal; then nothing of the file is kept. */
  async make(lease: AssemblyLease, signal: AbortSignal): Promise<'stored' | 'discarded'> {
    if (sizeOf(lease) === 0) return await this.discard(lease);
    return await this.spool.withFile(async (file) => {
      await this.join(lease, file, signal);
      await this.store(lease, file, signal);
      return 'stored' as const;
    });
  }

  /** Writes all parts behind one another: PCM as a WAV file, without half a sample at its end. */
  private async join(lease: AssemblyLease, file: SpoolFile, signal: AbortSignal): Promise<void> {
    const { recordingId, sampleRate } = lease;
    const size = sizeOf(lease);
    if (sampleRate !== null) await file.write(wavHeader(size, sampleRate));
    for (let position = 0; position < size;) {
      signal.throwIfAborted();
      const { audio } = await this.live.read(recordingId, position, Math.min(CHUNK_BYTES, size - position));
      if (audio.length === 0) throw new LeaseLostError(`no audio at byte ${position} of ${size}`);
      await file.write(audio);
      position += audio.length;
    }
  }

  /** The object first, under a key that is reserved, then the row. @throws LeaseLostError; then nothing of the file is kept. */
  private async store(lease: AssemblyLease, file: SpoolFile, signal: AbortSignal): Promise<void> {
    const { recordingId, accountId } = lease;
    const found = await this.uploads.describeFile(file);
    const audio = found ?? { ...UNKNOWN, fileSizeBytes: file.sizeBytes, audioFormat: FILE_FORMATS[lease.audioFormat] };
    // A browser writes no length into what it records, and not every file without one can be measured.
    const durationMs = audio.durationMs > 0 ? audio.durationMs : lease.storedMs;
    const key = { accountId, id: recordingId };
    const fileKey = await this.uploads.fileKeyOf(key, audio.audioFormat, lease.claims);
    if (fileKey === null) throw new LeaseLostError();
    const objectKey = await this.objectStore.keyFor(fileKey);
    const reservation = { objectKey, accountId, bytes: file.sizeBytes, durationMs };
    await this.database.transact(async (tx) => {
      if (!(await lockLeased(tx, ASSEMBLIES, lease))) throw new LeaseLostError();
      await this.uploads.reserveFile(tx, reservation, lease.reservedKey);
      await noteFileKey(tx, recordingId, objectKey);
    });
    signal.throwIfAborted();
    await this.objectStore.put(objectKey, file);
    const isStored = await this.database.transact(async (tx) => {
      const recording = await this.uploads.lock(tx, key);
      if (!recording || !(await lockLeased(tx, ASSEMBLIES, lease))) return false;
      await this.uploads.complete(tx, recording, { ...audio, durationMs, objectKey });
      await markAssembled(tx, recordingId);
      return true;
    });
    if (isStored) return;
    await this.objects.cancel(objectKey);
    throw new LeaseLostError();
  }

  private async discard(lease: AssemblyLease): Promise<'discarded'> {
    const { recordingId: id, accountId } = lease;
    await this.database.transact(async (tx) => {
      const recording = await this.uploads.lock(tx, { accountId, id });
      if (!recording || !(await lockLeased(tx, ASSEMBLIES, lease))) throw new LeaseLostError();
      await this.uploads.discard(tx, recording);
      await deleteLive(tx, id);
    });
    return 'discarded';
  }

  /** Of recordings whose file is stored. */
  async deleteAssembled(): Promise<void> {
    for (const id of await deleteAssembled(this.database)) await this.deleteParts(id);
  }

  /** Parts without a row: their recording was deleted, or the process that deleted its row has ended. */
  async deleteLeft(): Promise<void> {
    for (const id of await selectLeftAudio(this.database, MAX_LEFT)) await this.deleteParts(id);
  }

  private async deleteParts(recordingId: string): Promise<void> {
    await repeatWhileFull(BATCH, () => deleteAudio(this.database, recordingId, BATCH));
  }
}

/** Bytes of the audio in the file. */
const sizeOf = ({ sampleRate, storedBytes }: AssemblyLease): number =>
  sampleRate === null ? storedBytes : storedBytes - (storedBytes % 2);
