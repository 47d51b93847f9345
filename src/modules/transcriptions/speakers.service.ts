import { Injectable } from '@nestjs/common';
import { costOfText, type ThreadTask, ThreadPoolService } from '../../platform/concurrency/thread-pool.service.js';
import { InvalidRequestError, NotFoundError, PreconditionFailedError } from '../../platform/errors/errors.js';
import type { EntityTags } from '../../platform/http/header-values.js';
import { anyOf } from '../../platform/http/input/text-rules.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { hasSpeakers } from './exports/render-export.js';
import { type SpeakerShare, speakerSharesOf } from './speaker-shares.js';
import type { SpeakerNameItem } from './speakers.dto.js';
import type { SpeakerNames } from './text/turns.js';
import { entityTag, servedVersion } from './transcription-versions.js';
import { Transcription } from './transcription.entity.js';
import { TranscriptionsService } from './transcriptions.service.js';

const SPEAKER_SHARES: ThreadTask<string, SpeakerShare[]> = {
  run: speakerSharesOf,
  module: 'modules/transcriptions/speaker-shares.js',
};

/** The speakers of the text that is served. */
export interface Speakers {
  recordingId: string;
  speakers: (SpeakerShare & { name: string | null })[];
  /** Entity tag of this list. */
  etag: string;
}

const tagOf = (transcription: Transcription, names: SpeakerNames): string =>
  entityTag(servedVersion(transcription, 'current'), 'speakers', names);

/** Who speaks in a recording, and what they are called (D87). */
@Injectable()
export class SpeakersService {
  constructor(
    private readonly recordings: RecordingsService,
    private readonly transcriptions: TranscriptionsService,
    private readonly threads: ThreadPoolService,
  ) {}

  /** None where speakers were not told apart. @throws NotFoundError and its kin as the transcription itself does */
  async list(accountId: string, recordingId: string): Promise<Speakers> {
    const { recording, transcription } = await this.transcriptions.find(accountId, recordingId);
    const { words } = servedVersion(transcription, 'current');
    const names = recording.speakerNames;
    const shares = hasSpeakers(words)
      ? await this.threads.run(accountId, SPEAKER_SHARES, words, costOfText('', words))
      : [];
    const speakers = shares.map((share) => ({ ...share, name: names?.[share.speaker] ?? null }));
    return { recordingId, speakers, etag: tagOf(transcription, names) };
  }

  /**
   * Replaces all names.
   * @param ifMatch entity tags of which one must be that of the present list; null: any list will do
   * @throws as `list`; InvalidRequestError when a label is not one of them, PreconditionFailedError
   */
  async name(
    accountId: string,
    recordingId: string,
    given: readonly SpeakerNameItem[],
    ifMatch: EntityTags | null,
  ): Promise<Speakers> {
    const { speakers } = await this.list(accountId, recordingId);
    checkKnown(given, speakers);
    const named = given.flatMap(({ speaker, name }) => (name === null ? [] : [[speaker, name] as const]));
    await this.recordings.nameSpeakers(accountId, recordingId, Object.fromEntries(named), async (tx, recording) => {
      const transcription = await tx.manager.findOneBy(Transcription, { recordingId, accountId });
      if (!transcription) throw new NotFoundError('transcription');
      const etag = tagOf(transcription, recording.speakerNames);
      if (ifMatch === null || ifMatch === '*' || ifMatch.includes(etag)) return;
      throw new PreconditionFailedError('The list of speakers', etag);
    });
    return await this.list(accountId, recordingId);
  }
}

/** @throws InvalidRequestError */
function checkKnown(given: readonly SpeakerNameItem[], speakers: Speakers['speakers']): void {
  const labels = speakers.map(({ speaker }) => speaker);
  const unknown = given.find(({ speaker }) => !labels.includes(speaker));
  if (!unknown) return;
  const known = labels.length === 0 ? 'it has none' : `use ${anyOf(labels)}`;
  throw new InvalidRequestError({
    field: 'speakers',
    reason: `names ${unknown.speaker}, which is no speaker of this recording: ${known}`,
  });
}
