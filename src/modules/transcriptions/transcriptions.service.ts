import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../../platform/database/database.service.js';
import { TranscriptionFailedError, TranscriptionNotReadyError } from '../../platform/errors/errors.js';
import type { RecordingSnapshot, RecordingTranscribed } from '../recordings/recordings.events.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { Transcription } from './transcription.entity.js';
import { servedVersion } from './transcription-version.js';

export interface TranscribedRecording {
  recording: RecordingSnapshot;
  transcription: Transcription;
}

@Injectable()
export class TranscriptionsService {
  constructor(
    @InjectRepository(Transcription) private readonly transcriptions: Repository<Transcription>,
    private readonly recordings: RecordingsService,
  ) {}

  /**
   * @throws NotFoundError when there is no such recording, TranscriptionNotReadyError while it is being processed,
   *   TranscriptionFailedError when it has failed (D26).
   */
  async find(accountId: string, recordingId: string): Promise<TranscribedRecording> {
    const recording = await this.recordings.get(accountId, recordingId);
    if (recording.status === 'failed') throw new TranscriptionFailedError(recording.failureReason ?? '');
    const transcription = await this.transcriptions.findOneBy({ recordingId, accountId });
    if (!transcription) throw new TranscriptionNotReadyError();
    return { recording, transcription };
  }

  /** With the text and the words that are served now. @throws as `find` */
  async get(accountId: string, recordingId: string): Promise<Transcription> {
    const { transcription } = await this.find(accountId, recordingId);
    const { text, words } = servedVersion(transcription, 'current');
    return { ...transcription, text, words };
  }

  /** The texts that are served now, by the id of the recording. Those without a transcription are left out. */
  async textsOf(recordingIds: readonly string[]): Promise<Map<string, string>> {
    const found = await this.transcriptions.find({
      select: { recordingId: true, text: true, correctedText: true },
      where: { recordingId: In([...recordingIds]) },
    });
    return new Map(found.map(({ recordingId, text, correctedText }) => [recordingId, correctedText ?? text]));
  }

  async store(tx: Tx, { recording, transcript }: RecordingTranscribed): Promise<void> {
    const now = new Date();
    await tx.manager.insert(Transcription, {
      id: uuidv7(),
      recordingId: recording.id,
      accountId: recording.accountId,
      text: transcript.text,
      confidence: transcript.confidence,
      language: transcript.language,
      provider: transcript.provider,
      model: transcript.model,
      processingDurationMs: transcript.processingDurationMs,
      words: JSON.stringify(transcript.words),
      revision: 1,
      createdAt: now,
      updatedAt: now,
    });
  }
}
