import { Injectable } from '@nestjs/common';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { InvalidRequestError, NotFoundError, PreconditionFailedError } from '../../../platform/errors/errors.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import type { EntityTags } from '../../../platform/http/input/entity-tags.js';
import { type RecordingSnapshot, TranscriptionCorrected } from '../../recordings/recordings.events.js';
import { RecordingsService } from '../../recordings/recordings.service.js';
import { RecordingSearchService } from '../../recordings/search/recording-search.service.js';
import { joinWords } from '../alignment/tokens.js';
import { entityTag, isCurrent, servedVersion } from '../transcription-version.js';
import { Transcription } from '../transcription.entity.js';
import { TranscriptionsService } from '../transcriptions.service.js';
import { readCorrectedWords, timeCorrectedText, type TranscriptionWord } from './corrected-words.js';
import type { CorrectTranscriptionDto } from './corrections.dto.js';

/** The text that replaces the engine's, and its words as JSON text; nulls for the engine's own. */
type Correction = Pick<Transcription, 'correctedText' | 'correctedWords'>;

const LATE_SECONDS = 1;

interface Locked {
  recording: RecordingSnapshot;
  present: Transcription;
}

/** Replaces the text of transcriptions by a person's, and keeps the engine's (D44). */
@Injectable()
export class CorrectionsService {
  constructor(
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly recordings: RecordingsService,
    private readonly search: RecordingSearchService,
    private readonly transcriptions: TranscriptionsService,
  ) {}

  /**
   * @param ifMatch entity tags of which one must be that of the present version; null: any version will do
   * @throws NotFoundError and its kin as the transcription itself does, PreconditionFailedError
   */
  async correct(
    accountId: string,
    recordingId: string,
    { text, words }: CorrectTranscriptionDto,
    ifMatch: EntityTags | null,
  ): Promise<Transcription> {
    const { recording, transcription } = await this.transcriptions.find(accountId, recordingId);
    // Before the transaction, because to align a long text takes time. If a rerun ends meanwhile, the correction keeps
    // the earlier word times.
    const seconds = recording.durationMs / 1000;
    const corrected =
      text === undefined
        ? correctionOf(wordsWithin(words, seconds, transcription))
        : correctionOf(timeCorrectedText(text, wordsOf(transcription), seconds), text);
    return await this.database.transact(async (tx) => {
      const { present, recording: locked } = await this.lock(tx, accountId, recordingId, ifMatch);
      const served = servedVersion(present, 'current');
      if (served.text === corrected.correctedText && served.words === corrected.correctedWords) return present;
      return await this.replace(tx, locked, present, corrected);
    });
  }

  /** Serves the engine's text again. @throws NotFoundError also without a correction, PreconditionFailedError */
  async remove(accountId: string, recordingId: string, ifMatch: EntityTags | null): Promise<void> {
    await this.transcriptions.find(accountId, recordingId);
    await this.database.transact(async (tx) => {
      const { recording, present } = await this.lock(tx, accountId, recordingId, ifMatch);
      if (present.correctedText === null) throw new NotFoundError('correction');
      await this.replace(tx, recording, present, { correctedText: null, correctedWords: null });
    });
  }

  /** Locks the recording first, as a deletion does: in another order the two could deadlock. */
  private async lock(tx: Tx, accountId: string, recordingId: string, ifMatch: EntityTags | null): Promise<Locked> {
    const recording = await this.recordings.lock(tx, accountId, recordingId);
    const present = await tx.manager.findOne(Transcription, {
      where: { recordingId, accountId },
      lock: { mode: 'for_no_key_update' },
    });
    if (!present) throw new NotFoundError('transcription');
    if (ifMatch !== null && !isCurrent(ifMatch, present)) {
      throw new PreconditionFailedError('The transcription', entityTag(servedVersion(present, 'current'), 'json'));
    }
    return { recording, present };
  }

  private async replace(
    tx: Tx,
    recording: RecordingSnapshot,
    present: Transcription,
    correction: Correction,
  ): Promise<Transcription> {
    const change = { ...correction, revision: present.revision + 1, updatedAt: new Date() };
    await tx.manager.update(Transcription, { id: present.id }, change);
    const changed = { ...present, ...change };
    const { text, version } = servedVersion(changed, 'current');
    await this.search.replace(tx, recording.accountId, recording.id, text);
    await this.bus.emit(new TranscriptionCorrected(recording, version, text, change.updatedAt), tx);
    return changed;
  }
}

/**
 * Engines place the last words up to a second late; a client may send back whatever it was given.
 * @throws InvalidRequestError when a word ends after the recording
 */
function wordsWithin(given: unknown, seconds: number, transcription: Transcription): TranscriptionWord[] {
  const words = readCorrectedWords(given).words ?? [];
  const last = wordsOf(transcription).reduce((latest, { end }) => Math.max(latest, end), seconds);
  const beyond = words.findIndex(({ end }) => end > last + LATE_SECONDS);
  if (beyond === -1) return words;
  const reason = `has a wrong item: words[${beyond}].end must not be after the end of the recording, at ${seconds} s`;
  throw new InvalidRequestError({ field: 'words', reason });
}

function correctionOf(words: TranscriptionWord[], text = joinWords(words.map(({ word }) => word))): Correction {
  return { correctedText: text, correctedWords: JSON.stringify(words) };
}

function wordsOf({ words }: Transcription): TranscriptionWord[] {
  return JSON.parse(words) as TranscriptionWord[];
}
