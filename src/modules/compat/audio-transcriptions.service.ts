import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../access/principal.js';
import { ConflictError, InvalidRequestError } from '../../platform/errors/errors.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { UploadRequestsService } from '../recordings/upload/upload-requests.service.js';
import { AnnouncedEnginesService } from '../transcriptions/engines/announced-engines.service.js';
import type { ChunkSignal } from '../transcriptions/transcript-signals.service.js';
import { TranscriptionsService } from '../transcriptions/transcriptions.service.js';
import { AudioNotTranscribedError } from './openai-errors.js';
import { RecordingEndsService } from './recording-ends.service.js';
import { type Task, TranscriptionFormFields, type TranscriptionOptions } from './transcription-form.js';

/** Requests within this time after a failure get the same failure; a later one has the recording transcribed again. */
const FAILURE_REPEATED_MS = 60_000;

/** Audio that was stored now, or by an earlier request. */
export interface AcceptedAudio {
  recordingId: string;
  isRepeat: boolean;
  options: TranscriptionOptions;
}

/** A transcript, the length of its recording, and its engine. */
export interface EngineTranscript {
  recordingId: string;
  text: string;
  /** Lower-case English name. */
  language: string;
  durationSeconds: number;
  confidence: number;
  /** JSON text of the list. */
  words: string;
  /** Of speakers, by label. */
  names: Readonly<Record<string, string>> | null;
  /** Why speakers were not told apart; null where they were, or nobody asked for them. */
  speakersProblem: string | null;
  /** English names of those that were heard; null unless several were given. */
  languages: string[] | null;
  provider: string;
  model: string;
}

/** In the words of an error of a field, which clients of OpenAI show. */
export const noTranslation = (): InvalidRequestError =>
  new InvalidRequestError({ field: 'model', reason: 'This service has no engine that translates' });

export const noSpeakers = (problem: string | null): InvalidRequestError => {
  const reason = `cannot be diarized_json, because the speakers of this audio were not told apart${problem === null ? '' : ` (${problem})`}. The other formats have its text`;
  return new InvalidRequestError({ field: 'response_format', reason });
};

/** Stores audio as any other recording, and waits for its transcript. */
@Injectable()
export class AudioTranscriptionsService {
  constructor(
    private readonly uploads: UploadRequestsService,
    private readonly recordings: RecordingsService,
    private readonly transcriptions: TranscriptionsService,
    private readonly ends: RecordingEndsService,
    private readonly engines: AnnouncedEnginesService,
  ) {}

  /** @throws as an upload does; InvalidRequestError when it is to be translated and no engine does so. */
  async accept(request: Request, principal: Principal, task: Task): Promise<AcceptedAudio> {
    if (task === 'translate' && !(await this.engines.mayTranslate())) throw noTranslation();
    const fields = new TranscriptionFormFields(task);
    const { recording, replayed } = await this.uploads.accept(request, principal, fields);
    const repeatedFrom = Date.now() - FAILURE_REPEATED_MS;
    if (recording.status === 'failed' && (recording.processedAt?.getTime() ?? 0) < repeatedFrom) {
      await this.retry(principal, recording.id);
    }
    return { recordingId: recording.id, isRepeat: replayed, options: fields.read() };
  }

  /**
   * @param onChunk called with the text of chunks during the transcription; any may be missing.
   * @throws AudioNotTranscribedError; NotFoundError when the recording was deleted; the signal's reason.
   */
  async waitForTranscript(
    accountId: string,
    recordingId: string,
    signal: AbortSignal,
    onChunk?: (chunk: ChunkSignal) => void,
  ): Promise<EngineTranscript> {
    for (;;) {
      const recording = await this.recordings.get(accountId, recordingId);
      const { status, failureReason, durationMs, features, speakerNames: names } = recording;
      if (status === 'failed') throw new AudioNotTranscribedError(failureReason ?? '');
      if (status === 'transcribed') {
        const transcription = await this.transcriptions.get(accountId, recordingId);
        const languages = features?.languages?.map(({ language }) => language) ?? null;
        const speakersProblem = features?.speakers_problem ?? null;
        return { ...transcription, languages, names, speakersProblem, durationSeconds: durationMs / 1000 };
      }
      await this.ends.waitForEnd(recordingId, signal, onChunk);
    }
  }

  private async retry({ accountId, quotas }: Principal, recordingId: string): Promise<void> {
    try {
      await this.recordings.retry(accountId, recordingId, quotas);
    } catch (error) {
      // Another request has already retried it.
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}
