import { Inject, Injectable, Optional } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { traces } from '../../../platform/observability/traces/traces.js';
import { ANY_NUMBER } from '../../../platform/speakers.js';
import { ChunkCutter } from '../audio/chunk-cutter.js';
import { type AudioSource, decode } from '../audio/decoder.js';
import { BYTES_PER_SECOND } from '../audio/pcm.js';
import { PeakMeter, waveformOf } from '../audio/peak-meter.js';
import { EngineFailureError, tooLong, TooLongForEngineError } from '../engines/engine-failures.js';
import type { EngineRuntime } from '../engines/engine-runtimes.service.js';
import { vocabularyFor, type VocabularySources } from '../engines/engine-vocabulary.js';
import {
  type AudioChunk,
  AudioRejectedError,
  type ChunkTranscript,
  type TranscribeOptions,
  type TranscriptionEngine,
  type TranscriptWord,
} from '../engines/transcription-engine.js';
import type { HeardLanguage } from '../../recordings/leases/recording-leases.service.js';
import { type SpeakerSearch, SpeakerSearchService } from '../speakers/speaker-search.service.js';
import { SpeechDetectionService } from '../speech/speech-detection.service.js';
import { addPunctuation } from '../text/sentences.js';
import { dropInventedWords } from '../speech/invented-words.js';
import {
  calibrated,
  channelsToTranscribe,
  heardLanguages,
  joinChannels,
  storable,
  TextJoiner,
  type TranscribedChunk,
} from './join-transcripts.js';
import { chunkSeconds, transcribeAmong } from './language-choice.js';
import type { HeardChunk } from './partial-text-writer.js';
import { transcribeChunks } from './transcribe-chunks.js';

/** What the engine has recognised in a whole recording. Word times are seconds from its start. */
export interface FilterableTranscript {
  text: string;
  words: TranscriptWord[];
  /** Lower-case English name. */
  language: string;
}

/**
 * Changes each transcript before anything of it is stored, searched or sent: those of `transcriptFilters` of an
 * extension, in their order. If it throws, the attempt fails, and nothing is stored.
 */
export type TranscriptFilter = (
  transcript: FilterableTranscript,
) => Pick<FilterableTranscript, 'text' | 'words'> | Promise<Pick<FilterableTranscript, 'text' | 'words'>>;

/** Injection token of all filters. */
export const TRANSCRIPT_FILTERS = Symbol('TranscriptFilters');

export interface AudioInput extends AudioSource {
  /** Whose share of the engine it uses (D33). */
  accountId: string;
  /** Chunks of other recordings go first. */
  isBackground?: boolean;
  /** Lower-case English name, or null when the client gave none. */
  language: string | null;
  /** Those of several that the engine takes: each chunk is in one of them (D69). Absent or null: `language` counts. */
  languages?: readonly string[] | null;
  /** Whether the text is to be in English, whatever is spoken; the engine must be one that does so (D71). */
  translate?: boolean;
  /** Whether each of two channels is transcribed on its own. */
  separateChannels?: boolean;
  /** How many speakers to tell apart, 0: as many as there are; null or absent: none (D86). */
  speakers?: number | null;
  /** The recording, if it is transcribed again: its speakers keep their labels. */
  rerunOf?: string | null;
  /** Seconds counted for the account (D32). Longer audio is refused; null or absent sets no limit. */
  countedSeconds?: number | null;
  /** Terms of the upload and of the account; absent without any (D48). */
  vocabulary?: VocabularySources;
  /** Longer audio is for another engine; absent: any length. */
  maxSeconds?: number | undefined;
  /** Called with the text of each chunk, in order, and the length of the text before it. */
  onText?: (chunk: { offset: number; text: string }) => void;
  /** Called after `onText`, with where the chunk stands. */
  onChunk?: ((chunk: HeardChunk) => void) | undefined;
  signal: AbortSignal;
}

export interface TranscriptionResult {
  /** Length of the decoded audio. */
  durationSeconds: number;
  text: string;
  /** 0–1. */
  confidence: number;
  /** Lower-case English name. */
  language: string;
  words: TranscriptWord[];
  /** One byte for each point of the waveform (D52). */
  peaks: Buffer;
  /** Sum over all channels. */
  speechSeconds: number | null;
  noSpeech: boolean;
  /** What was heard; absent unless several were given (D69). */
  languages?: readonly HeardLanguage[];
  /** Terms that the engine was given; absent without any in the upload and the account (D48). */
  vocabulary?: readonly string[];
  /** Only if speakers are asked for; null when they were not found. */
  speakers?: { count: number; model: string } | null;
  /** Why not, in a sentence for clients. */
  speakersProblem?: string | null;
  /** Capitals and full stops are not the engine's. */
  punctuationAdded?: true;
}

/** The decoded audio is longer than what was counted for the account. It has to be counted before an engine gets it. */
export class LongerThanCountedError extends Error {
  override readonly name = 'LongerThanCountedError';
}

/** Headers and frames leave the length of usual files open by less than this, such as the delay of an encoder. */
const TOLERANCE = { seconds: 2, part: 0.01 };

const mostSeconds = ({ countedSeconds }: AudioInput): number =>
  (countedSeconds ?? Infinity) * (1 + TOLERANCE.part) + TOLERANCE.seconds;

/** One pass over the audio: of a channel, or of all of them, mixed. */
interface Pass {
  audio: AudioInput;
  channel: number | null;
  runtime: EngineRuntime;
  vocabulary: readonly string[];
  search: SpeakerSearch | null;
}

interface TranscribedChannel {
  chunks: TranscribedChunk[];
  durationSeconds: number;
  speechSeconds: number;
  peaks: Uint16Array;
}

/** Turns an audio file into its transcript: decodes it, cuts it at pauses, transcribes the chunks and joins the results. */
@Injectable()
export class TranscriberService {
  constructor(
    private readonly env: Env,
    private readonly speech: SpeechDetectionService,
    @Optional() @Inject(TRANSCRIPT_FILTERS) private readonly filters: readonly TranscriptFilter[] = [],
    @Optional() @Inject(SpeakerSearchService) private readonly speakers: SpeakerSearchService | null = null,
  ) {}

  /**
   * @throws AudioRejectedError when the audio can never be decoded: its message is for the client. EngineError when it
   *   may be decoded by a retry. EngineFailureError when the engine failed. The signal's reason when it is aborted.
   */
  async transcribe(audio: AudioInput, runtime: EngineRuntime): Promise<TranscriptionResult> {
    if ((audio.countedSeconds ?? 0) > this.env.maxAudioSeconds) await this.measure(audio);
    const search = await this.searchFor(audio, runtime.engine);
    try {
      return await this.transcribeSearched(audio, runtime, search);
    } finally {
      await search?.end();
    }
  }

  /** Null unless speakers are asked for. */
  private async searchFor(audio: AudioInput, engine: TranscriptionEngine): Promise<SpeakerSearch | null> {
    const { speakers = null, rerunOf = null, accountId, isBackground, signal } = audio;
    if (speakers === null || !this.speakers) return null;
    const most = speakers === ANY_NUMBER ? null : speakers;
    const voices = { speakers: most, accountId, signal, ...(isBackground && { isBackground }) };
    const isByChannel = channelsToTranscribe(audio).length > 1;
    const source = isByChannel ? 'channels' : engine.labelsSpeakers ? 'engine' : 'voices';
    return await this.speakers.begin({ source, engine, voices, rerunOf });
  }

  private async transcribeSearched(
    audio: AudioInput,
    runtime: EngineRuntime,
    search: SpeakerSearch | null,
  ): Promise<TranscriptionResult> {
    const { engine } = runtime;
    const vocabulary = vocabularyFor(engine, audio.vocabulary);
    const channels: TranscribedChannel[] = [];
    for (const channel of channelsToTranscribe(audio)) {
      channels.push(await this.transcribeChannel({ audio, channel, runtime, vocabulary, search }));
    }
    const durationSeconds = Math.max(...channels.map((channel) => channel.durationSeconds));
    const speechSeconds = channels.reduce((sum, channel) => sum + channel.speechSeconds, 0);
    const chunks = channels.map((channel) => channel.chunks);
    const { text, words, confidence, language } = joinChannels(chunks, durationSeconds);
    const spoken =
      language ??
      (audio.translate ? 'english' : null) ??
      audio.languages?.[0] ??
      audio.language ??
      engine.defaultLanguage;
    const spokenWords = search ? await search.label({ text, words, seconds: durationSeconds }) : words;
    const filtered = await this.filter({ text, words: spokenWords, language: spoken });
    const found = search?.result(filtered.words);
    const punctuated = this.env.addPunctuation ? addPunctuation({ ...filtered, durationSeconds }) : null;
    return {
      durationSeconds,
      confidence,
      ...filtered,
      ...(found && { words: found.words, speakers: found.speakers, speakersProblem: found.problem }),
      text: punctuated ?? filtered.text,
      peaks: waveformOf(channels.map(({ peaks }) => peaks)),
      speechSeconds: Math.round(speechSeconds * 100) / 100,
      noSpeech: text === '',
      ...(audio.languages && { languages: heardLanguages(chunks.flat()) }),
      ...(punctuated !== null && { punctuationAdded: true as const }),
      ...(audio.vocabulary && { vocabulary: engine.maxVocabularyTerms ? vocabulary : [] }),
    };
  }

  /** Filters need the whole text, and no part of it may be sent before. Punctuation changes the text of chunks. */
  private get streamsText(): boolean {
    return this.filters.length === 0 && !this.env.addPunctuation;
  }

  private async transcribeChannel(pass: Pass): Promise<TranscribedChannel> {
    const { audio, channel, runtime, vocabulary, search } = pass;
    const { accountId, isBackground, language, languages, translate = false, signal } = audio;
    const told = languages?.length === 1 ? (languages[0] as string) : language;
    const options = {
      language: told,
      vocabulary,
      ...(translate && { translate }),
      ...(search?.asksEngine && { speakers: audio.speakers ?? ANY_NUMBER }),
    };
    const known = translate ? 'english' : languages?.length === 1 ? languages[0] : undefined;
    const candidates = !translate && languages && languages.length > 1 ? languages : null;
    const cutter = new ChunkCutter(chunkSeconds(runtime, candidates), this.speech.open());
    const meter = new PeakMeter();
    const texts = new TextJoiner();
    let cut = 0;
    const chunks = await transcribeChunks({
      chunks: (stop) => counted(this.cut(pass, cutter, meter, stop), (number) => (cut = number)),
      transcribe: async (chunk, stop) => {
        const recognise = (each: string | null): Promise<ChunkTranscript> =>
          this.recognise(runtime, chunk, {
            ...options,
            language: each,
            ...(candidates && each === null && { languages: candidates }),
            signal: stop,
          });
        if (candidates) return await transcribeAmong(candidates, runtime.engine, recognise);
        const transcript = await recognise(options.language);
        return known === undefined ? transcript : { ...transcript, language: known };
      },
      queue: runtime.queue,
      accountId,
      isBackground,
      onResult: (chunk) => {
        const text = texts.add(chunk);
        if (!text || channel !== null || !this.streamsText) return;
        audio.onText?.(text);
        const { start, seconds } = chunk;
        audio.onChunk?.({ start, end: start + seconds, text: text.text.trim(), isOnly: cut === 1 });
      },
      signal,
    });
    const { durationSeconds, speechSeconds } = cutter;
    return { chunks, durationSeconds, speechSeconds, peaks: meter.peaks() };
  }

  private async recognise(
    runtime: EngineRuntime,
    chunk: AudioChunk,
    options: TranscribeOptions,
  ): Promise<ChunkTranscript> {
    try {
      const seconds = chunk.pcm.length / BYTES_PER_SECOND;
      const transcript = await traces.span('chunk', { 'voice_notes.audio.seconds': seconds }, () =>
        runtime.engine.transcribe(chunk, options),
      );
      runtime.succeeded();
      const kept = dropInventedWords(runtime.engine.name, chunk, transcript);
      return storable(calibrated(kept, runtime.engine.calibration), { speakers: options.speakers !== undefined });
    } catch (error) {
      if (options.signal.aborted) throw error;
      throw error instanceof Error ? new EngineFailureError(error) : error;
    }
  }

  private async filter(transcript: FilterableTranscript): Promise<FilterableTranscript> {
    let filtered = transcript;
    for (const filter of this.filters) {
      const { text, words } = await filter(filtered);
      filtered = { ...filtered, text, words };
    }
    return filtered;
  }

  /**
   * Decodes without transcribing, which takes a second for ten minutes of audio.
   * @returns seconds. @throws AudioRejectedError when it is too long, or cannot be decoded.
   */
  async measure(audio: Pick<AudioInput, keyof AudioSource | 'signal'>): Promise<number> {
    let bytes = 0;
    for await (const pcm of this.decode(audio, null, audio.signal)) {
      bytes += pcm.length;
      this.checkLength(bytes / BYTES_PER_SECOND);
    }
    return bytes / BYTES_PER_SECOND;
  }

  private checkLength(seconds: number): void {
    const max = this.env.maxAudioSeconds;
    if (seconds > max) throw new AudioRejectedError(tooLong(max));
  }

  /** Before any chunk of these seconds goes to the engine. */
  private checkLengths(audio: AudioInput, seconds: number): void {
    this.checkLength(seconds);
    if (seconds > (audio.maxSeconds ?? Infinity)) throw new TooLongForEngineError(audio.maxSeconds);
    if (seconds > mostSeconds(audio)) throw new LongerThanCountedError();
  }

  /** Cuts and measures the audio while it is being decoded. */
  private async *cut(
    { audio, channel, search }: Pass,
    cutter: ChunkCutter,
    meter: PeakMeter,
    signal: AbortSignal,
  ): AsyncGenerator<AudioChunk> {
    let bytes = 0;
    try {
      for await (const pcm of this.decode(audio, channel, signal)) {
        bytes += pcm.length;
        this.checkLengths(audio, bytes / BYTES_PER_SECOND);
        meter.add(pcm);
        await search?.add(pcm);
        yield* cutter.push(pcm);
      }
      yield* cutter.end();
    } finally {
      cutter.close();
    }
  }

  /** Decodes one second more than the maximum, to detect recordings that are too long. */
  private decode(audio: AudioSource, channel: number | null, signal: AbortSignal): AsyncGenerator<Buffer> {
    const { maxAudioSeconds, sandbox } = this.env;
    return traces.iterate('decode', decode(audio, { maxSeconds: maxAudioSeconds + 1, channel, signal, sandbox }));
  }
}

async function* counted<T>(items: AsyncIterable<T>, tell: (number: number) => void): AsyncGenerator<T> {
  let number = 0;
  for await (const item of items) {
    tell(++number);
    yield item;
  }
}
