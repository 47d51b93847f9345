import { Injectable, Logger } from '@nestjs/common';
import { keepLease, LeaseLostError } from '../../../platform/concurrency/lease-loops.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { releaseLease, renewLease } from '../../../platform/database/leases.queries.js';
import {
  type LiveAudio,
  type LiveEvent,
  LiveRecognitionService,
  NoLiveWordsError,
} from '../../transcriptions/live/live-recognition.service.js';
import {
  AudioRejectedError,
  EngineUnavailableError,
  type TranscriptWord,
} from '../../transcriptions/engines/transcription-engine.js';
import { LiveRecordingsService } from '../live-recordings.service.js';
import type { LiveWord } from '../live-signals.js';
import { LiveSignalsService } from '../live-signals.service.js';
import { LiveAudioReader } from './live-audio-reader.js';
import { endLiveWords, insertLiveFinal, LIVE_WORDS, type LiveLease, noteLiveProblem } from './live-words.queries.js';

/** A transcriber that was killed is replaced after this time at most. */
export const LEASE_SECONDS = 8;
const RENEW_MS = 2_000;
/** Before the next attempt after an error that another attempt may not have. */
const RETRY_SECONDS = 2;
/** The same where no engine is available. */
const UNAVAILABLE_RETRY_SECONDS = 5;

const UNAVAILABLE = 'The engine is not available now.';

const BYTES_PER_SAMPLE = 2;
/** Less between two cuts may be too little to decode: nothing is said in it. */
const LEAST_SECONDS = 0.01;

/** Recognises one live recording under its lease, from the last stored utterance to the end of the audio. */
@Injectable()
export class LiveWordsRunService {
  private readonly logger = new Logger(LiveWordsRunService.name);

  constructor(
    private readonly database: DatabaseService,
    private readonly recordings: LiveRecordingsService,
    private readonly signals: LiveSignalsService,
    private readonly recognition: LiveRecognitionService,
  ) {}

  /** Resolves when the words have ended, or the lease has. @param stopping aborted when the process ends */
  async perform(lease: LiveLease, stopping: AbortSignal): Promise<void> {
    const lost = new AbortController();
    const renewal = keepLease(() => renewLease(this.database, LIVE_WORDS, lease, LEASE_SECONDS), RENEW_MS, lost);
    try {
      await this.recognise(lease, AbortSignal.any([stopping, lost.signal]));
      if (await endLiveWords(this.database, lease, null)) {
        this.signals.publishWords(lease.recordingId, { type: 'finished' });
      }
    } catch (error) {
      if (lost.signal.aborted || error instanceof LeaseLostError) return;
      if (stopping.aborted) await releaseLease(this.database, LIVE_WORDS, lease, 0);
      else await this.fail(lease, error);
    } finally {
      clearInterval(renewal);
    }
  }

  private async recognise(lease: LiveLease, signal: AbortSignal): Promise<void> {
    const { recordingId, accountId, accountEngines, language, languages, audioFormat, sampleRate, endMs } = lease;
    const vocabulary = { upload: lease.vocabulary ?? [], account: lease.accountVocabulary };
    const recogniser = await this.recognition.open({ accountId, accountEngines, language, languages, vocabulary });
    const isRaw = audioFormat === 'pcm16';
    const fromByte = isRaw ? Math.round((endMs * (sampleRate ?? 0)) / 1000) * BYTES_PER_SAMPLE : 0;
    const reader = new LiveAudioReader(this.recordings, this.signals, { recordingId, fromByte, signal });
    const text = new ItemWriter(lease.items);
    const format: LiveAudio['format'] = audioFormat === 'mp4' ? 'm4a' : audioFormat;
    try {
      for (let segment = await reader.next(); segment; segment = await reader.next()) {
        const { bytes, cutsAtPauses } = segment;
        const startSeconds = isRaw ? segment.fromByte / BYTES_PER_SAMPLE / (sampleRate ?? 1) : endMs / 1000;
        const skipSeconds = isRaw ? 0 : startSeconds;
        const audio = { bytes, format, sampleRate, startSeconds, skipSeconds, cutsAtPauses, signal };
        try {
          await this.tellSegment(lease, text, reader, this.recognition.listen(audio, recogniser));
        } catch (error) {
          const isShort = isRaw && reader.lengthOf(segment) < (sampleRate ?? 0) * BYTES_PER_SAMPLE * LEAST_SECONDS;
          if (!(isShort && error instanceof AudioRejectedError)) throw error;
        }
      }
    } finally {
      reader.close();
      recogniser.close();
    }
  }

  private async tellSegment(
    lease: LiveLease,
    text: ItemWriter,
    reader: LiveAudioReader,
    events: AsyncIterable<LiveEvent>,
  ): Promise<void> {
    let told: number | null = null;
    for await (const event of events) {
      if (event.type === 'text') {
        told = await reader.reachedCommit();
        // Up to the commit, so that the next transcriber goes on behind it.
        if (told !== null) event.end = secondsAfter(told, lease.sampleRate);
      }
      await this.tell(lease, text, event);
    }
    const commit = await reader.reachedCommit();
    if (commit !== null && told === null) await this.tellNothing(lease, text, secondsAfter(commit, lease.sampleRate));
  }

  /** Of a commit behind which nothing was said: its client waits for it. */
  private async tellNothing(lease: LiveLease, text: ItemWriter, at: number): Promise<void> {
    await this.tell(lease, text, { type: 'speech_stopped', at });
    await this.tell(lease, text, { type: 'text', text: '', words: [], start: at, end: at });
  }

  private async tell(lease: LiveLease, text: ItemWriter, event: LiveEvent): Promise<void> {
    const { recordingId } = lease;
    const { item } = text;
    if (event.type === 'unavailable') await this.noteUnavailable(lease);
    else if (event.type === 'words') this.signals.publishWords(recordingId, text.add(event.words));
    else if (event.type !== 'text') {
      this.signals.publishWords(recordingId, { type: event.type, item, at: toMilliseconds(event.at) });
    } else {
      const [start, end] = [toMilliseconds(event.start), toMilliseconds(event.end)];
      const final = { item, text: event.text, start, end };
      const words = event.words.map((word) => toLiveWord(word));
      if (!(await insertLiveFinal(this.database, lease, { ...final, words }))) throw new LeaseLostError();
      this.signals.publishWords(recordingId, { type: 'final', ...final });
      text.next();
    }
  }

  /** Said once, however often it happens. */
  private async noteUnavailable(lease: LiveLease): Promise<void> {
    if (!(await noteLiveProblem(this.database, lease, UNAVAILABLE))) return;
    this.logger.warn({ recording_id: lease.recordingId }, 'no engine for live words');
    this.signals.publishWords(lease.recordingId, { type: 'problem', message: UNAVAILABLE });
  }

  private async fail(lease: LiveLease, error: unknown): Promise<void> {
    const isUnavailable = error instanceof EngineUnavailableError;
    // Nobody waits for long once the recording has ended.
    if (isUnavailable && !(await this.recordings.read(lease.recordingId, 0, 1)).ended) {
      await this.noteUnavailable(lease);
      await releaseLease(this.database, LIVE_WORDS, lease, UNAVAILABLE_RETRY_SECONDS);
      return;
    }
    const message = isUnavailable ? UNAVAILABLE : problemOf(error);
    if (message === null) {
      this.logger.warn({ err: error as Error, recording_id: lease.recordingId }, 'live words interrupted');
      await releaseLease(this.database, LIVE_WORDS, lease, RETRY_SECONDS);
    } else if (await endLiveWords(this.database, lease, message)) {
      this.logger.warn({ err: error as Error, recording_id: lease.recordingId }, 'no words for a live recording');
      this.signals.publishWords(lease.recordingId, { type: 'problem', message });
      this.signals.publishWords(lease.recordingId, { type: 'finished' });
    }
  }
}

/** The end of PCM of so many bytes, rounded up to the millisecond. */
const secondsAfter = (bytes: number, sampleRate: number | null): number =>
  Math.ceil(((bytes / BYTES_PER_SAMPLE) * 1000) / (sampleRate ?? 1)) / 1000;

/** For the client; null when another attempt may succeed. */
function problemOf(error: unknown): string | null {
  return error instanceof NoLiveWordsError || error instanceof AudioRejectedError ? error.message : null;
}

/** The text of the utterances as far as it was signalled. */
class ItemWriter {
  private length = 0;

  constructor(public item: number) {}

  add(words: readonly TranscriptWord[]) {
    const offset = this.length;
    const text = (offset > 0 ? ' ' : '') + words.map(({ word }) => word).join(' ');
    this.length += text.length;
    return { type: 'delta', item: this.item, offset, text, words: words.map((word) => toLiveWord(word)) } as const;
  }

  next(): void {
    this.item++;
    this.length = 0;
  }
}

const toLiveWord = ({ word, start, end }: TranscriptWord): LiveWord => ({
  word,
  start: toMilliseconds(start),
  end: toMilliseconds(end),
});

/** Seconds, to the millisecond. */
const toMilliseconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;
