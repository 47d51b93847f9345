import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Counter, Gauge, Registry } from 'prom-client';
import { selectKeyAccess } from '../../../access/accounts.queries.js';
import { selectSessionAccess } from '../../../access/sessions.queries.js';
import type { Principal } from '../../../access/principal.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { AccountSuspendedError, AuthenticationError, NotFoundError } from '../../../platform/errors/errors.js';
import { answerWithFile } from '../../../platform/http/file-answer.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import type { Recording } from '../recording.entity.js';
import { RecordingsService } from '../recordings.service.js';
import { AudioUrlsService, type SignedAudio } from './audio-urls.service.js';

export const CONTENT_TYPES: Record<AudioFormat, string> = {
  webm: 'audio/webm',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  flac: 'audio/flac',
  amr: 'audio/amr',
};

/** The recording is there, and its audio is not any more (D78). */
class AudioDeletedError extends NotFoundError {
  override readonly code = 'AUDIO_DELETED';
  override readonly message = 'The audio of this recording has been deleted, as its retention says.';
}

export const audioDeletedByRetention = () => new AudioDeletedError('audio');

export const INVALID_URL =
  'This URL is not valid, or no longer. Create a new one with POST /v1/recordings/{recording_id}/audio-url.';

/** Serves the audio of recordings (D41). No connection to Postgres is held while a client reads. */
@Injectable()
export class AudioDownloadService {
  private readonly downloads: Gauge;
  private readonly bytes: Counter;

  constructor(
    private readonly recordings: RecordingsService,
    private readonly urls: AudioUrlsService,
    private readonly database: DatabaseService,
    private readonly objectStore: ObjectStore,
    registry: Registry,
  ) {
    const registers = [registry];
    this.downloads = new Gauge({ name: 'audio_downloads', help: 'Downloads of audio in progress.', registers });
    this.bytes = new Counter({
      name: 'audio_download_bytes_total',
      help: 'Bytes of audio sent to clients.',
      registers,
    });
  }

  /** @throws NotFoundError */
  async createUrl({ accountId, keyId, sessionId, keyExpiresAt }: Principal, recordingId: string): Promise<SignedAudio> {
    const signer = keyId === null ? sessionId !== null && { sessionId } : { keyId };
    if (!signer) throw new Error('only a key pair or a session may read recordings');
    refuseDeleted(await this.recordings.get(accountId, recordingId));
    return await this.urls.sign({ accountId, recordingId, signer }, keyExpiresAt);
  }

  /**
   * The recording that a URL is for, while the key or session that made the URL is valid.
   * @throws AuthenticationError, AccountSuspendedError, NotFoundError
   */
  async findSigned(recordingId: string, token: string): Promise<Recording> {
    const grant = await this.urls.verify(token);
    if (grant?.recordingId !== recordingId) throw new AuthenticationError(INVALID_URL);
    const { accountId, signer } = grant;
    const access = await ('keyId' in signer
      ? selectKeyAccess(this.database, accountId, signer.keyId)
      : selectSessionAccess(this.database, accountId, signer.sessionId));
    if (!access?.keyIsValid) throw new AuthenticationError(INVALID_URL);
    if (access.suspended) throw new AccountSuspendedError();
    return await this.recordings.get(grant.accountId, recordingId);
  }

  /**
   * Answers a GET or HEAD as RFC 9110 asks for.
   * @throws NotFoundError when the audio was deleted or the store has no such object, PreconditionFailedError, RangeNotSatisfiableError,
   *   StorageUnavailableError
   */
  async send(recording: Recording, type: 'attachment' | 'inline', request: Request, response: Response): Promise<void> {
    refuseDeleted(recording);
    const { id, createdAt, fileSizeBytes: size, audioFormat, originalFilename, objectKey } = recording;
    // Its link has not been fetched.
    if (size === 0) throw new NotFoundError('audio');
    await answerWithFile(request, response, {
      what: 'audio',
      size,
      contentType: CONTENT_TYPES[audioFormat],
      entityTag: `"${id}"`,
      lastModified: createdAt,
      disposition: type,
      filename: originalFilename,
      open: (range, signal) => this.objectStore.read(objectKey, range, signal),
      onBytes: (count) => this.bytes.inc(count),
      whileSending: async (send) => {
        this.downloads.inc();
        await send().finally(() => this.downloads.dec());
      },
    });
  }
}

/** @throws AudioDeletedError */
function refuseDeleted({ audioDeletedAt }: Recording): void {
  if (audioDeletedAt) throw audioDeletedByRetention();
}
