import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Quotas } from '../../../access/plans.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { emptyColumns } from '../../../platform/database/statement-parts.js';
import { AccountSuspendedError, ConflictError, QuotaExceededError } from '../../../platform/errors/errors.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import { type SpanAttributes, traces } from '../../../platform/observability/traces/traces.js';
import { ObjectRemovalsService } from '../../../platform/storage/object-removals.service.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import { StorageUnavailableError } from '../../../platform/storage/file-system.js';
import { objectKeyOf, Recording, type UploadSource } from '../recording.entity.js';
import { QuotasService } from '../quotas.service.js';
import { RecordingAccepted, type UploadExtras } from '../recordings.events.js';
import { insertAccepted } from '../recordings.queries.js';
import { refuseScripted } from '../test-accounts/scripted-refusals.js';
import { claimIdempotencyKey, findIdempotencyKey, forgetIdempotencyKey, KEPT_SECONDS } from './idempotency.queries.js';
import { type AudioColumns, describeAudio } from '../audio/inspect-audio.js';
import { formatInName, nameInUrl } from '../links/link-name.js';
import type { UploadForm } from './upload-form.js';
import {
  type RepeatRule,
  readCustomTags,
  readExtras,
  readRetention,
  readSeparateChannels,
  readSpeakers,
  readSpokenLanguages,
  readTitle,
  readVocabulary,
  type UploadDetails,
} from './upload-fields.js';

export const idempotencyKeyReused = () =>
  new ConflictError('This Idempotency-Key was used for an upload with other contents.');

/** Who sent an upload, and how. */
export interface UploadContext {
  userId: string | null;
  /** The API key, or the one that issued the access token. */
  keyId: string | null;
  quotas: Quotas;
  /** Of a test account: the name of the file may ask for a refusal (D80). */
  isTest: boolean;
  /** What the operator accepts. */
  acceptedFormats: readonly AudioFormat[];
  clientIp: string | null;
  userAgent: string | null;
  source: UploadSource;
  idempotencyKey: string | null;
  /** How an upload without an Idempotency-Key is recognised as a repeat; null: never. */
  repeats: RepeatRule | null;
}

export interface UploadResult {
  recording: Recording;
  /** The same upload was accepted before; this is its recording. */
  replayed: boolean;
}

/** What was sent: a file, or the link of one. */
interface Upload extends UploadExtras {
  form: UploadForm | null;
}

/** A file that is stored later, under a key of its own. */
export interface FileToCome {
  originalFilename: string;
  /** Until it is there. */
  audioFormat: AudioFormat;
}

interface IdempotencyClaim {
  key: string;
  fingerprint: string;
  keptSeconds: number;
}

/** What a new recording does not have yet. */
const EMPTY = emptyColumns(Recording);
/** No worker claims a recording without a file, in this release or the one before: Postgres takes this for `infinity`. */
const UNTIL_FETCHED = Infinity as unknown as Date;
/** How long an upload waits for others of its account that may be the same one. */
const UNDER_WAY_MS = 10_000;
const LOOK_AGAIN_MS = 100;
/** Begins the keys that stand for contents. No client can send it, because it is not ASCII. */
const CONTENT_KEY = '§';

/** Another upload with the same key was committed meanwhile. */
class IdempotencyKeyInUseError extends ConflictError {
  constructor() {
    super('This Idempotency-Key is in use by another upload.');
  }
}

/** Stores an upload: the object first, then the recording in one transaction. */
@Injectable()
export class UploadService {
  constructor(
    private readonly database: DatabaseService,
    @InjectRepository(Recording) private readonly recordings: Repository<Recording>,
    private readonly objects: ObjectRemovalsService,
    private readonly objectStore: ObjectStore,
    private readonly bus: EventBus,
    private readonly quotas: QuotasService,
  ) {}

  /**
   * @throws InvalidRequestError, ConflictError, QuotaExceededError, StorageUnavailableError, and what `refuseScripted`
   *   throws; then nothing of the upload is kept.
   */
  async accept(
    accountId: string,
    form: UploadForm | null,
    details: UploadDetails,
    context: UploadContext,
  ): Promise<UploadResult> {
    const { url, callback } = readExtras(details);
    const upload: Upload = { form, url: form ? null : url, callback };
    const recording = await this.describe(accountId, form ?? linkedFile(url ?? ''), details, context);
    traces.annotate(describeTraced(recording));
    if (context.isTest) refuseScripted(recording);
    const claim = claimOf(context, upload, recording);
    const earlier = claim && (await this.replay(recording, claim));
    return earlier ?? (await this.store(recording, upload, claim, context.quotas));
  }

  /** The row of an upload. @throws InvalidRequestError, StorageUnavailableError */
  async describe(
    accountId: string,
    file: UploadForm | FileToCome,
    details: UploadDetails,
    context: UploadContext,
  ): Promise<Recording> {
    const isHere = 'file' in file;
    const audio = isHere ? await describeAudio(file.file, context.acceptedFormats) : unknownAudio(file.audioFormat);
    const title = readTitle(details.title);
    const customTags = readCustomTags(details.custom_tags);
    const { language, languages } = readSpokenLanguages(details.language, details.languages);
    const vocabulary = readVocabulary(details.vocabulary);
    const separateChannels = readSeparateChannels(details.channels, audio.channels);
    const speakers = readSpeakers(details);
    const retention = readRetention(details);
    // With traces, that of the request's trace, which is then the recording's, too (docs/operations.md#traces).
    const id = traces.takeId() ?? uuidv7();
    const now = new Date();
    // Nothing is stored under this key of a file that comes later: it gets one of its own when it is there.
    const plainKey = objectKeyOf(accountId, now, `${isHere ? id : `${id}-0`}.${audio.audioFormat}`);
    return {
      ...EMPTY,
      ...audio,
      id,
      accountId,
      userId: context.userId,
      keyId: context.keyId,
      originalFilename: file.originalFilename,
      title,
      objectKey: isHere ? await this.objectStore.keyFor(plainKey) : plainKey,
      bucket: this.objectStore.bucket,
      clientIp: context.clientIp,
      userAgent: context.userAgent,
      uploadSource: context.source,
      customTags,
      language,
      languages,
      translate: details.task === 'translate',
      vocabulary,
      separateChannels,
      speakers,
      // What it does not say itself comes from its account, when the row is inserted.
      audioDueAt: afterDays(now, retention.retainAudioDays),
      textDueAt: afterDays(now, retention.retainTextDays),
      deleteAudioAfter: retention.deleteAudioAfter,
      status: 'processing',
      run: 1,
      attempt: 0,
      faults: 0,
      leaseUntil: isHere ? null : UNTIL_FETCHED,
      createdAt: now,
      updatedAt: now,
    };
  }

  /**
   * The object's key is reserved before the object is written, so that a crash leaves no orphan, and with it room in the
   * quotas, which the transaction of the recording takes over.
   */
  private async store(
    recording: Recording,
    upload: Upload,
    claim: IdempotencyClaim | null,
    quotas: Quotas,
  ): Promise<UploadResult> {
    const { objectKey, accountId, fileSizeBytes: bytes, durationMs } = recording;
    const { form } = upload;
    const reserved = this.quotas.reserve({ objectKey, accountId, bytes, durationMs }, quotas);
    try {
      // The file is written at once, and gets its key when that is reserved, so that neither waits for the other.
      await (form ? traces.span('store', {}, () => this.objectStore.put(objectKey, form.file, reserved)) : reserved);
      await traces.span('commit', {}, () =>
        this.database.transact(async (tx) => {
          await this.claimKey(tx, recording, claim);
          await this.insert(tx, recording, upload);
        }),
      );
      return { recording, replayed: false };
    } catch (error) {
      const mayArriveLate = error instanceof StorageUnavailableError && error.mayArriveLate;
      // The reservation may not be committed yet. One that failed needs no cancelling.
      void reserved.then(
        () => this.objects.cancel(objectKey, { mayArriveLate }),
        () => undefined,
      );
      if (isAccountGone(error)) throw new AccountSuspendedError();
      if (!claim) throw error;
      const earlier =
        error instanceof IdempotencyKeyInUseError
          ? await this.replay(recording, claim)
          : error instanceof QuotaExceededError && (await this.replayOfUnderWay(recording, claim));
      if (!earlier) throw error;
      return earlier;
    }
  }

  /** What filled the quota may be the same upload, which is not stored yet. */
  private async replayOfUnderWay(recording: Recording, claim: IdempotencyClaim): Promise<UploadResult | null> {
    const deadline = Date.now() + UNDER_WAY_MS;
    for (;;) {
      const areUnderWay = Date.now() < deadline && (await this.quotas.hasReservations(recording.accountId));
      const earlier = await this.replay(recording, claim);
      if (earlier || !areUnderWay) return earlier;
      await delay(LOOK_AGAIN_MS);
    }
  }

  /** Only in the last transaction: of two concurrent uploads, the second to commit finds the key in use. */
  private async claimKey(tx: Tx, recording: Recording, claim: IdempotencyClaim | null): Promise<void> {
    if (!claim) return;
    const { accountId, userId, id: recordingId } = recording;
    const { keptSeconds, ...key } = claim;
    const row = { accountId, identity: userId ?? '', ...key, recordingId };
    const claimed = await claimIdempotencyKey(tx, row, keptSeconds);
    if (!claimed) throw new IdempotencyKeyInUseError();
  }

  private async insert(tx: Tx, recording: Recording, { url, callback }: Upload): Promise<void> {
    const event = new RecordingAccepted(recording, { url, callback });
    const inserted = await insertAccepted(tx, recording, this.bus.writesFor(event, tx));
    if (!inserted) throw new Error(`the reservation of ${recording.objectKey} expired`);
    await this.bus.emit(event, tx);
  }

  /** Null when the key is new. @throws ConflictError when the earlier upload differs, or its recording was deleted. */
  private async replay({ accountId, userId }: Recording, claim: IdempotencyClaim): Promise<UploadResult | null> {
    const key = { accountId, identity: userId ?? '', key: claim.key };
    const earlier = await findIdempotencyKey(this.database, key, claim.keptSeconds);
    if (!earlier) return null;
    if (earlier.fingerprint !== claim.fingerprint) {
      throw idempotencyKeyReused();
    }
    const recording = await this.recordings.findOneBy({ id: earlier.recordingId, accountId });
    if (recording) return { recording, replayed: true };
    if (!claim.key.startsWith(CONTENT_KEY)) {
      throw new ConflictError('The recording of this Idempotency-Key has been deleted.');
    }
    await forgetIdempotencyKey(this.database, { ...key, recordingId: earlier.recordingId });
    return null;
  }
}

const describeTraced = ({ id, accountId, durationMs, fileSizeBytes }: Recording): SpanAttributes => ({
  'voice_notes.account.id': accountId,
  'voice_notes.recording.id': id,
  'voice_notes.audio.seconds': durationMs / 1000,
  'voice_notes.audio.bytes': fileSizeBytes,
});

const linkedFile = (url: string): FileToCome => {
  const originalFilename = nameInUrl(url);
  return { originalFilename, audioFormat: formatInName(originalFilename) };
};

/** All of it is known when the file is there. */
const unknownAudio = (audioFormat: AudioFormat): AudioColumns => ({
  durationMs: 0,
  fileSizeBytes: 0,
  audioFormat,
  sampleRate: null,
  channels: null,
  bitRate: null,
  audioCodec: null,
});

/** The operator has removed the account since the upload began. */
const isAccountGone = (error: unknown): boolean =>
  (error as { constraint?: unknown } | null)?.constraint === 'recordings_account_fkey';

const DAY_MS = 86_400_000;
const afterDays = (from: Date, days: number | null): Date | null =>
  days === null ? null : new Date(from.getTime() + days * DAY_MS);

/** The time of an upload is its own; what counts is for how long. */
const keptFor = ({ createdAt, audioDueAt, textDueAt, deleteAudioAfter }: Recording): object[] => {
  const daysUntil = (time: Date | null) => time && (time.getTime() - createdAt.getTime()) / DAY_MS;
  const kept = { audio: daysUntil(audioDueAt), text: daysUntil(textDueAt), after: deleteAudioAfter };
  return Object.values(kept).some((value) => value !== null) ? [kept] : [];
};

function claimOf(
  { idempotencyKey: key, repeats }: UploadContext,
  { form, url, callback }: Upload,
  recording: Recording,
): IdempotencyClaim | null {
  if (key === null && !repeats) return null;
  const { language, languages, translate, customTags, vocabulary, separateChannels, speakers, title } = recording;
  // What later releases have added comes last, and only where it is given, so that older fingerprints stay valid.
  const contents = [
    form ? form.sha256 : { url },
    language,
    customTags,
    ...(repeats ? [repeats.sameText] : []),
    ...(vocabulary ? [vocabulary] : []),
    ...(separateChannels ? [{ channels: 'separate' }] : []),
    ...(languages ? [{ languages }] : []),
    ...(translate ? [{ task: 'translate' }] : []),
    ...(title === null ? [] : [{ title }]),
    ...(callback ? [{ callback }] : []),
    ...(speakers === null ? [] : [{ speakers }]),
    ...keptFor(recording),
  ];
  const fingerprint = hash('sha256', JSON.stringify(contents), 'hex');
  if (key !== null) return { key, fingerprint, keptSeconds: KEPT_SECONDS };
  return { key: CONTENT_KEY + fingerprint, fingerprint, keptSeconds: repeats?.seconds ?? 0 };
}
