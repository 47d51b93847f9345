import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { TranscriptionFailedError, TranscriptionNotReadyError } from '../../platform/errors/errors.js';
import type { PageQuery } from '../../platform/http/page.js';
import type { RecordingSnapshot, RecordingTranscribed } from '../recordings/recordings.events.js';
import { RecordingInclusionsService } from '../recordings/recording-inclusions.service.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { RecordingSearchService } from '../recordings/search/recording-search.service.js';
import type { SpeakerNames } from './text/turns.js';
import type { TranscriptionWord } from './corrected-words.js';
import { Transcription } from './transcription.entity.js';
import { presentIncludedTranscription } from './transcription.presenter.js';
import { type FoundVersions, keepEarlier, selectVersions, servedVersion } from './transcription-versions.js';

export interface TranscribedRecording {
  recording: RecordingSnapshot & { speakerNames: SpeakerNames };
  transcription: Transcription;
}

@Injectable()
export class TranscriptionsService implements OnModuleInit {
  constructor(
    @InjectRepository(Transcription) private readonly transcriptions: Repository<Transcription>,
    private readonly database: DatabaseService,
    private readonly recordings: RecordingsService,
    private readonly search: RecordingSearchService,
    private readonly inclusions: RecordingInclusionsService,
  ) {}

  onModuleInit(): void {
    this.inclusions.register('transcription', async ({ accountId, id, status }) => {
      if (status !== 'transcribed') return null;
      const transcription = await this.transcriptions.findOneBy({ recordingId: id, accountId });
      return transcription && presentIncludedTranscription(servedVersion(transcription, 'current'));
    });
  }

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

  /**
   * The words that are served now, with their speakers: those of the engine, if a correction names no speakers.
   * Empty without a transcription.
   */
  async speakersBefore(recordingId: string): Promise<TranscriptionWord[]> {
    const present = await this.transcriptions.findOne({
      select: { id: true, words: true, correctedWords: true },
      where: { recordingId },
    });
    if (!present) return [];
    const corrected = wordsOf(present.correctedWords ?? '[]');
    return corrected.some(({ speaker }) => speaker !== undefined) ? corrected : wordsOf(present.words);
  }

  /** The present version first. @throws NotFoundError */
  async versions(accountId: string, recordingId: string, { page, limit }: PageQuery): Promise<FoundVersions> {
    const { rerunAt, requestedEngine } = await this.recordings.get(accountId, recordingId);
    const versions = await selectVersions(this.database, recordingId);
    return {
      found: { items: versions.slice(page * limit, (page + 1) * limit), total: versions.length },
      pending: rerunAt && { engine: requestedEngine, requestedAt: rerunAt },
    };
  }

  /** After a rerun the new text replaces that of the engine. A correction by a person is still served (D49). */
  async store(tx: Tx, { recording, transcript }: RecordingTranscribed): Promise<void> {
    const now = new Date();
    const stored = {
      id: uuidv7(),
      text: transcript.text,
      confidence: transcript.confidence,
      language: transcript.language,
      provider: transcript.provider,
      model: transcript.model,
      processingDurationMs: transcript.processingDurationMs,
      words: JSON.stringify(transcript.words),
      createdAt: now,
      updatedAt: now,
    };
    const { id: recordingId, accountId } = recording;
    const present = recording.run > 1 ? await this.lockPresent(tx, recordingId) : null;
    if (!present) {
      await tx.manager.insert(Transcription, { ...stored, recordingId, accountId, revision: 1 });
      return;
    }
    await keepEarlier(tx, recordingId);
    await tx.manager.update(Transcription, { id: present.id }, { ...stored, revision: present.revision + 1 });
    if (present.correctedText !== null) await this.search.replace(tx, accountId, recordingId, present.correctedText);
  }

  private async lockPresent(tx: Tx, recordingId: string): Promise<Transcription | null> {
    return await tx.manager.findOne(Transcription, { where: { recordingId }, lock: { mode: 'for_no_key_update' } });
  }
}

const wordsOf = (json: string): TranscriptionWord[] => JSON.parse(json) as TranscriptionWord[];
