import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../access/principal.js';
import { ConflictError } from '../../platform/errors/errors.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { UploadRequestsService } from '../recordings/upload/upload-requests.service.js';
import type { ChunkSignal } from '../transcriptions/transcript-signals.service.js';
import { TranscriptionsService } from '../transcriptions/transcriptions.service.js';
import { AudioNotTranscribedError } from './openai-errors.js';
import { RecordingEndsService } from './waiting/recording-ends.service.js';
import { TranscriptionFormFields, type TranscriptionOptions } from './transcription-form.js';
import type { HeardNote } from './answers/transcription-response.js';

/** For so long the same note is one recording. */
const REPEAT_SECONDS = 600;
/** A failure is told to every request that comes within this time, and the audio is tried again after it. */
const FAILURE_TOLD_MS = 60_000;

/** A note that was stored now, or before. */
export interface AcceptedNote {
  recordingId: string;
  isRepeat: boolean;
  options: TranscriptionOptions;
}

/** What was heard, and by which engine. */
export interface HeardBy extends HeardNote {
  provider: string;
  model: string;
}

/** Stores notes as every other recording, and tells what was heard. */
@Injectable()
export class AudioTranscriptionsService {
  constructor(
    private readonly uploads: UploadRequestsService,
    private readonly recordings: RecordingsService,
    private readonly transcriptions: TranscriptionsService,
    private readonly ends: RecordingEndsService,
  ) {}

  /** @throws as an upload does. */
  async accept(request: Request, principal: Principal): Promise<AcceptedNote> {
    const fields = new TranscriptionFormFields();
    const { recording, replayed } = await this.uploads.accept(request, principal, {
      fields,
      details: () => {
        const { language, vocabulary } = fields.read();
        return { ...(language !== undefined && { language }), vocabulary: JSON.stringify(vocabulary) };
      },
      repeats: () => ({ seconds: REPEAT_SECONDS, sameText: fields.read().prompt }),
    });
    const failedBefore = Date.now() - FAILURE_TOLD_MS;
    if (recording.status === 'failed' && (recording.processedAt?.getTime() ?? 0) < failedBefore) {
      await this.tryAgain(principal, recording.id);
    }
    return { recordingId: recording.id, isRepeat: replayed, options: fields.read() };
  }

  /**
   * @param onChunk called with pieces of the text while the note is being transcribed; any may be missing.
   * @throws AudioNotTranscribedError; NotFoundError when the recording was deleted; the signal's reason.
   */
  async hear(
    accountId: string,
    recordingId: string,
    signal: AbortSignal,
    onChunk?: (chunk: ChunkSignal) => void,
  ): Promise<HeardBy> {
    for (;;) {
      const { status, failureReason, durationMs } = await this.recordings.get(accountId, recordingId);
      if (status === 'failed') throw new AudioNotTranscribedError(failureReason ?? '');
      if (status === 'transcribed') {
        const { words, ...transcription } = await this.transcriptions.get(accountId, recordingId);
        const list = JSON.parse(words) as HeardNote['words'];
        return { ...transcription, words: list, durationSeconds: durationMs / 1000 };
      }
      await this.ends.waitForEnd(recordingId, signal, onChunk);
    }
  }

  private async tryAgain({ accountId, quotas }: Principal, recordingId: string): Promise<void> {
    try {
      await this.recordings.retry(accountId, recordingId, quotas);
    } catch (error) {
      // Another request was first.
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}
