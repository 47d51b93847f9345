import { Injectable } from '@nestjs/common';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { InvalidRequestError, NotFoundError, PreconditionFailedError } from '../../platform/errors/errors.js';
import { EventBus } from '../../platform/database/event-bus.js';
import type { EntityTags } from '../../platform/http/header-values.js';
import { costOfText, type ThreadTask, ThreadPoolService } from '../../platform/concurrency/thread-pool.service.js';
import { type RecordingSnapshot, TranscriptionCorrected } from '../recordings/recordings.events.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { RecordingSearchService } from '../recordings/search/recording-search.service.js';
import { entityTag, isCurrent, servedVersion } from './transcription-versions.js';
import { Transcription } from './transcription.entity.js';
import { TranscriptionsService } from './transcriptions.service.js';
import { type CorrectionInput, type CorrectionResult, makeCorrection } from './corrected-words.js';
import type { CorrectTranscriptionDto } from './transcriptions.dto.js';

// For other modules, which import no other file of corrections.
export { CorrectTranscriptionDto } from './transcriptions.dto.js';

/** The text that replaces the engine's, and its words as JSON text; nulls for the engine's own. */
type Correction = Pick<Transcription, 'correctedText' | 'correctedWords'>;

const MAKE_CORRECTION: ThreadTask<CorrectionInput, CorrectionResult> = {
  run: makeCorrection,
  module: 'modules/transcriptions/corrected-words.js',
};

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
    private readonly threads: ThreadPoolService,
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
    const input = {
      text,
      words: Array.isArray(words) ? JSON.stringify(words) : words,
      spokenWords: transcription.words,
      seconds: recording.durationMs / 1000,
    };
    const cost = costOfText(text ?? '', input.words ?? '', input.spokenWords);
    const made = await this.threads.run(accountId, MAKE_CORRECTION, input, cost);
    if (made.problem !== null) throw new InvalidRequestError({ field: 'words', reason: made.problem });
    const corrected = { correctedText: made.text, correctedWords: made.words };
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
    await recordChanges(tx, {
      accountId: recording.accountId,
      action: version === 'corrected' ? 'transcription.corrected' : 'transcription.correction_removed',
      targets: [auditTarget('recording', recording.id)],
      after: { revision: change.revision },
    });
    return changed;
  }
}
