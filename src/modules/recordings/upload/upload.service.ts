import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { ConflictError, InvalidRequestError } from '../../../platform/errors/errors.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import { isCleanText } from '../../../platform/http/input/rules.js';
import { isLanguage, languageName } from '../../../platform/languages/languages.js';
import { claimReservedObject, ObjectRemovalsService } from '../../../platform/storage/object-removals.service.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import { detectFormat } from '../audio/formats/audio-format.js';
import { FileWindow } from '../audio/formats/file-window.js';
import { probeAudio } from '../audio/probes/audio-probe.js';
import type { UploadForm } from './upload-form.js';
import { parseCustomTags } from './custom-tags.js';
import { Recording, type UploadSource } from '../recording.entity.js';
import { RecordingAccepted } from '../recordings.events.js';
import { COUNT_ACCEPTED } from '../usage-counters/usage-counters.js';

/** How an upload came. */
export interface UploadContext {
  userId: string | null;
  clientIp: string | null;
  userAgent: string | null;
  source: UploadSource;
  idempotencyKey: string | null;
}

/** `replayed`: the same upload came before, and this is what became of it. */
export interface UploadResult {
  recording: Recording;
  replayed: boolean;
}

/** A printable key, as the header's value arrives. */
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;
/** Hours for which a key is remembered (D20). */
export const IDEMPOTENCY_HOURS = 24;

/** Takes an upload from the spool into storage and the tables: the first two of the six durable steps. */
@Injectable()
export class UploadService {
  private readonly acceptance: ReturnType<typeof acceptanceOf>;

  constructor(
    private readonly database: DatabaseService,
    private readonly store: ObjectStore,
    private readonly objects: ObjectRemovalsService,
    private readonly bus: EventBus,
  ) {
    this.acceptance = acceptanceOf(database);
  }

  /** @throws InvalidRequestError, ConflictError, StorageUnavailableError; then nothing of the upload is kept. */
  async accept(accountId: string, form: UploadForm, origin: UploadContext): Promise<UploadResult> {
    const recording = await this.describe(accountId, form, origin);
    const key = origin.idempotencyKey;
    if (key !== null && !IDEMPOTENCY_KEY.test(key)) {
      throw new InvalidRequestError({ field: 'Idempotency-Key', reason: 'must be 1 to 255 printable characters' });
    }
    const claim = key === null ? null : { key, fingerprint: fingerprint(form.sha256, recording) };
    const earlier = claim && (await this.replay(recording, claim));
    return earlier ?? (await this.keep(recording, form, claim));
  }

  private async describe(accountId: string, form: UploadForm, origin: UploadContext): Promise<Recording> {
    const { custom_tags: tags, language } = form.fields;
    if (form.file.sizeBytes === 0) throw new InvalidRequestError({ field: 'file', reason: 'is empty' });
    const window = new FileWindow(form.file.handle, form.file.sizeBytes);
    const format = await detectFormat(window);
    if (!format) throw new InvalidRequestError({ field: 'file', reason: 'must be audio in webm, mp3, ogg or wav' });
    const customTags = readTags(tags);
    const spoken = readLanguage(language);
    const facts = await probeAudio(window, format);
    const id = uuidv7();
    const now = new Date();
    const month = now.toISOString().slice(0, 'yyyy-mm'.length).replace('-', '/');
    return Object.assign(new Recording(), {
      id,
      accountId,
      userId: origin.userId,
      originalFilename: form.originalFilename,
      objectKey: `${accountId}/${month}/${id}.${format}`,
      bucket: this.store.bucket,
      durationMs: Math.round(facts.durationSeconds * 1000),
      fileSizeBytes: form.file.sizeBytes,
      audioFormat: format,
      sampleRate: facts.sampleRate,
      channels: facts.channels,
      bitRate: facts.bitRate,
      audioCodec: facts.codec,
      clientIp: origin.clientIp,
      userAgent: origin.userAgent,
      uploadSource: origin.source,
      customTags,
      language: spoken,
      status: 'processing' as const,
      features: null,
      failureReason: null,
      run: 1,
      attempt: 0,
      faults: 0,
      leaseToken: null,
      leaseUntil: null,
      createdAt: now,
      updatedAt: now,
      processedAt: null,
    });
  }

  /** The object's key is on the removal list while it is nobody's, so that a crash leaves no orphan. */
  private async keep(recording: Recording, form: UploadForm, claim: Claim | null): Promise<UploadResult> {
    const reserved = this.objects.reserve(recording.objectKey);
    try {
      await this.store.put(recording.objectKey, form.file, reserved);
      await this.database.transact((tx) => this.insert(tx, recording, claim));
      return { recording, replayed: false };
    } catch (error) {
      // Also a reservation that is not committed yet; what could not be reserved needs no giving up.
      void reserved.then(
        () => this.objects.giveUp(recording.objectKey),
        () => undefined,
      );
      if (!(error instanceof IdempotencyKeyTaken) || !claim) throw error;
      const earlier = await this.replay(recording, claim);
      if (!earlier) throw error;
      return earlier;
    }
  }

  private async insert(tx: Tx, recording: Recording, claim: Claim | null): Promise<void> {
    if (claim) await this.rememberKey(tx, recording, claim);
    const booked = await tx.prepared(this.acceptance.sql, this.acceptance.parametersOf(recording));
    if (booked.length === 0) throw new Error(`the reservation of ${recording.objectKey} has run out`);
    await this.bus.emit(new RecordingAccepted(recording), tx);
  }

  /** Nothing is reserved beforehand: of two uploads at the same time, the one that commits second finds the key taken. */
  private async rememberKey(tx: Tx, recording: Recording, { key, fingerprint: print }: Claim): Promise<void> {
    const remembered = await tx.query(
      `INSERT INTO idempotency_keys AS k (account_id, identity, key, fingerprint, recording_id, created_at)
       VALUES ($1, $2, $3, $4, $5, now())
       ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
         SET fingerprint = excluded.fingerprint, recording_id = excluded.recording_id, created_at = excluded.created_at
         WHERE k.created_at < now() - make_interval(hours => ${IDEMPOTENCY_HOURS})
       RETURNING key`,
      [recording.accountId, recording.userId ?? '', key, print, recording.id],
    );
    if (remembered.length === 0) throw new IdempotencyKeyTaken();
  }

  /** Null when the key is new. @throws ConflictError when it stands for something else, or for what was deleted. */
  private async replay(
    { accountId, userId }: Recording,
    { key, fingerprint: print }: Claim,
  ): Promise<UploadResult | null> {
    const [line] = await this.database.query<{ fingerprint: string; recording_id: string }>(
      `SELECT fingerprint, recording_id FROM idempotency_keys
       WHERE account_id = $1 AND identity = $2 AND key = $3
         AND created_at >= now() - make_interval(hours => ${IDEMPOTENCY_HOURS})`,
      [accountId, userId ?? '', key],
    );
    if (!line) return null;
    if (line.fingerprint !== print) {
      throw new ConflictError('This Idempotency-Key was used for an upload with other contents.');
    }
    const recordings = this.database.dataSource.getRepository(Recording);
    const recording = await recordings.findOneBy({ id: line.recording_id, accountId });
    if (!recording) throw new ConflictError('The recording that this Idempotency-Key was used for has been deleted.');
    return { recording, replayed: true };
  }
}

/** One statement takes the object off the removal list, inserts the recording and books it. No row: the object is lost. */
function acceptanceOf(database: DatabaseService) {
  const { into, values, parametersOf } = database.insertion(Recording);
  const key = `$${parametersOf(new Recording()).length + 1}`;
  const sql = `
    WITH kept AS (${claimReservedObject(key)}), accepted AS (INSERT INTO ${into} SELECT ${values} FROM kept RETURNING *)
    ${COUNT_ACCEPTED}`;
  return { sql, parametersOf: (recording: Recording) => [...parametersOf(recording), recording.objectKey] };
}

interface Claim {
  key: string;
  fingerprint: string;
}

/** Another upload with the same key has been committed since we looked. */
class IdempotencyKeyTaken extends ConflictError {
  constructor() {
    super('This Idempotency-Key is in use by another upload.');
  }
}

function fingerprint(sha256: string | null, { language, customTags }: Recording): string {
  return createHash('sha256')
    .update(JSON.stringify([sha256, language, customTags]))
    .digest('hex');
}

function readTags(text: string | undefined): string | null {
  if (text === undefined) return null;
  const tags = parseCustomTags(text);
  if (!tags.ok) throw new InvalidRequestError({ field: 'custom_tags', reason: tags.reason });
  return tags.json;
}

function readLanguage(name: string | undefined): string | null {
  if (name === undefined) return null;
  if (!isCleanText(name) || !isLanguage(name)) {
    throw new InvalidRequestError({
      field: 'language',
      reason: 'must be the English name of a language, such as english',
    });
  }
  return languageName(name);
}
