import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Counter, Gauge, Registry } from 'prom-client';
import { selectKeyAccess } from '../../../access/accounts.queries.js';
import { selectSessionAccess } from '../../../access/sessions.queries.js';
import type { Principal } from '../../../access/principal.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import {
  AccountSuspendedError,
  AuthenticationError,
  NotFoundError,
  PreconditionFailedError,
  RangeNotSatisfiableError,
} from '../../../platform/errors/errors.js';
import { type ByteRange, ObjectNotFoundError } from '../../../platform/storage/file-system.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import type { Recording } from '../recording.entity.js';
import { RecordingsService } from '../recordings.service.js';
import { contentDisposition, sendFile, sendHead, type SentFile } from './audio-response.js';
import { AudioUrlsService, type SignedAudio } from './audio-urls.service.js';
import { allowsRange, evaluateConditions, parseByteRanges } from './audio-request.js';

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
    const { id, createdAt, fileSizeBytes: size, audioFormat, originalFilename } = recording;
    // Its link has not been fetched.
    if (size === 0) throw new NotFoundError('audio');
    // The audio of a recording never changes.
    const validators = { entityTag: `"${id}"`, lastModified: createdAt };
    response.setHeader('ETag', validators.entityTag);
    response.setHeader('Last-Modified', createdAt.toUTCString());
    response.setHeader('Accept-Ranges', 'bytes');
    response.setHeader('Content-Disposition', contentDisposition(type, originalFilename));
    const result = evaluateConditions(request.headers, validators);
    if (result === 'not modified') {
      response.status(304).end();
      return;
    }
    try {
      if (result === 'failed') throw new PreconditionFailedError('The audio', validators.entityTag);
      const file = this.fileOf(recording.objectKey, size, CONTENT_TYPES[audioFormat]);
      if (request.method === 'HEAD') await sendHead(response, file);
      else await this.sendBody(response, file, rangesOf(request, validators, size));
    } catch (error) {
      if (!response.headersSent) removeFileHeaders(response);
      if (error instanceof ObjectNotFoundError) throw new NotFoundError('audio');
      throw error;
    }
  }

  private async sendBody(response: Response, file: SentFile, ranges: ByteRange[] | null): Promise<void> {
    if (ranges?.length === 0) {
      response.setHeader('Content-Range', `bytes */${file.size}`);
      throw new RangeNotSatisfiableError(file.size);
    }
    this.downloads.inc();
    try {
      await sendFile(response, file, ranges);
    } finally {
      this.downloads.dec();
    }
  }

  private fileOf(key: string, size: number, contentType: string): SentFile {
    return {
      size,
      contentType,
      open: (range, signal) => this.objectStore.read(key, range, signal),
      onBytes: (count) => this.bytes.inc(count),
    };
  }
}

/** @throws AudioDeletedError */
function refuseDeleted({ audioDeletedAt }: Recording): void {
  if (audioDeletedAt) throw audioDeletedByRetention();
}

function rangesOf(
  { headers }: Request,
  validators: { entityTag: string; lastModified: Date },
  size: number,
): ByteRange[] | null {
  const { range } = headers;
  if (range === undefined || !allowsRange(headers['if-range'] as string | undefined, validators)) return null;
  return parseByteRanges(range, size);
}

/** They are about the audio, and an error is answered instead. */
function removeFileHeaders(response: Response): void {
  const names = ['ETag', 'Last-Modified', 'Content-Disposition', 'Content-Type', 'Content-Length'];
  for (const name of names) response.removeHeader(name);
}
