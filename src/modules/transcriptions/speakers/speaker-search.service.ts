import { Injectable, Logger } from '@nestjs/common';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { Spool, type SpoolFile } from '../../../platform/storage/spool.js';
import type { TranscriptionWord } from '../corrected-words.js';
import type { TranscriptionEngine, TranscriptWord } from '../engines/transcription-engine.js';
import { TranscriptionsService } from '../transcriptions.service.js';
import { assignSpeakers } from './assign-speakers.js';
import type { DiarizeInput } from './speaker-diarizer.js';
import { SpeakerDiarizerService } from './speaker-diarizer.service.js';
import { completed, keepLabels, labelled, speakersIn } from './speaker-labels.js';

/** What says who speaks: the channel, the engine's own labels, or the sound of the voices. */
export type SpeakerSource = 'channels' | 'engine' | 'voices';

/** Why words have no speakers, for clients. */
export const NO_WORD_TIMES = 'The engine gives no times of words, so that it is not known who says which.';
export const NOT_LABELLED = 'The engine has told no speakers apart in this recording.';
export const FAILED = 'The search for speakers failed.';

/** For the features of a recording. */
export interface FoundSpeakers {
  words: TranscriptWord[];
  /** Null: not found. */
  speakers: { count: number; model: string } | null;
  /** Then why, in a sentence for clients. */
  problem: string | null;
}

type Voices = Pick<DiarizeInput, 'speakers' | 'accountId' | 'isBackground' | 'signal'>;

/** Says of each word of a recording who says it (D86). */
@Injectable()
export class SpeakerSearchService {
  constructor(
    private readonly diarizer: SpeakerDiarizerService,
    private readonly spool: Spool,
    private readonly transcriptions: TranscriptionsService,
  ) {}

  /** Begins before the audio is decoded. The caller ends the search with `end`. */
  async begin({ rerunOf, ...wanted }: Wanted): Promise<SpeakerSearch> {
    const { signal } = wanted.voices;
    const before = rerunOf
      ? await retryWhileUnavailable(() => this.transcriptions.speakersBefore(rerunOf), { signal })
      : [];
    return await SpeakerSearch.begin({ ...wanted, before, diarizer: this.diarizer, spool: this.spool });
  }
}

interface Wanted {
  source: SpeakerSource;
  engine: TranscriptionEngine;
  voices: Voices;
  /** The recording, if its speakers have labels already. */
  rerunOf: string | null;
}

interface Parts extends Omit<Wanted, 'rerunOf'> {
  /** The words that are served. */
  before: readonly TranscriptionWord[];
  diarizer: SpeakerDiarizerService;
  spool: Spool;
}

/**
 * The search in one recording. Its audio is kept in a file of the spool while it is decoded, if the sound of the voices
 * decides. No failure of the search is one of the recording.
 */
export class SpeakerSearch {
  private readonly logger = new Logger(SpeakerSearch.name);
  private problem: string | null = null;
  private file: SpoolFile | null = null;
  /** With labels, as filters got them. */
  private found: TranscriptWord[] = [];

  private constructor(private readonly parts: Parts) {}

  static async begin(parts: Parts): Promise<SpeakerSearch> {
    const search = new SpeakerSearch(parts);
    if (parts.source === 'voices') await search.trying(() => search.openFile());
    return search;
  }

  /** Takes the next piece of the decoded audio. */
  async add(pcm: Buffer): Promise<void> {
    if (this.file && this.problem === null) await this.trying(() => this.file?.write(pcm));
  }

  /**
   * Labels the words, when all of them are there.
   * @throws the signal's reason when it is aborted
   */
  async label({
    text,
    words,
    seconds,
  }: {
    text: string;
    words: TranscriptWord[];
    seconds: number;
  }): Promise<TranscriptWord[]> {
    if (words.length === 0 && text !== '') this.problem ??= NO_WORD_TIMES;
    if (words.length > 0 && this.problem === null) {
      await this.trying(async () => void (this.found = labelled(await this.spokenBy(words, seconds))));
    }
    if (this.problem !== null) this.found = [];
    return this.found.length > 0 ? this.found : words.map(withoutSpeaker);
  }

  /** @param words as filters have left them */
  result(words: readonly TranscriptWord[]): FoundSpeakers {
    if (this.problem !== null) return { words: words.map(withoutSpeaker), speakers: null, problem: this.problem };
    const spoken = keepLabels(labelled(completed(words, this.found)), this.parts.before);
    return { words: spoken, speakers: { count: speakersIn(spoken).length, model: this.model }, problem: null };
  }

  async end(): Promise<void> {
    await this.file?.discard();
  }

  /** Whether the engine is to label the words. */
  get asksEngine(): boolean {
    return this.parts.source === 'engine';
  }

  private get model(): string {
    const { source, engine, diarizer } = this.parts;
    if (source === 'voices') return diarizer.model ?? '';
    return source === 'channels' ? 'channels' : `${engine.name} ${engine.model}`;
  }

  private async openFile(): Promise<void> {
    this.problem = await this.parts.diarizer.problem();
    if (this.problem === null) this.file = await this.parts.spool.create();
  }

  private async spokenBy(words: TranscriptWord[], seconds: number): Promise<TranscriptWord[]> {
    const { source, voices, diarizer } = this.parts;
    if (source === 'channels') return words.map((word) => ({ ...word, speaker: `${word.channel}` }));
    if (source === 'engine') {
      if (speakersIn(words).length === 0) this.problem = NOT_LABELLED;
      return completed(words, words);
    }
    const pcmFile = this.file?.path ?? '';
    const segments = await diarizer.diarize({ ...voices, pcmFile, seconds });
    // A voice that is too short to be told from others is one all the same.
    return assignSpeakers(words, segments).map((speaker, index) => ({
      ...(words[index] as TranscriptWord),
      speaker: `${speaker ?? 0}`,
    }));
  }

  private async trying(work: () => Promise<void> | undefined): Promise<void> {
    const { signal } = this.parts.voices;
    try {
      await work();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      this.logger.warn({ err: error }, 'search for speakers failed');
      this.problem = FAILED;
    }
  }
}

function withoutSpeaker(spoken: TranscriptWord): TranscriptWord {
  const { speaker: _, ...word } = spoken;
  return word;
}
