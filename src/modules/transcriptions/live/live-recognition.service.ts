import { Inject, Injectable, Logger, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { sharedRun } from '../../../platform/concurrency/shared-run.js';
import { Env } from '../../../platform/config/env.js';
import { ModelError } from '../../models/model-folder.js';
import { type AudioStream, decodeStream } from '../audio/decoder.js';
import { BYTES_PER_SECOND } from '../audio/pcm.js';
import { type EngineRuntime, EngineRuntimesService } from '../engines/engine-runtimes.service.js';
import type { VocabularySources } from '../engines/engine-vocabulary.js';
import { sherpaStreamingModel } from '../engines/sherpa/sherpa-streaming.js';
import { sherpaEngine } from '../engines/sherpa/sherpa.engine.js';
import {
  AudioRejectedError,
  EngineError,
  EngineUnavailableError,
  type TranscriptWord,
} from '../engines/transcription-engine.js';
import { SpeechDetectionService } from '../speech/speech-detection.service.js';
import { TRANSCRIPT_FILTERS, type TranscriptFilter } from '../worker/transcriber.service.js';
import { ChunkRecogniser } from './chunk.recogniser.js';
import { type LiveRecogniser, NoLiveWordsError } from './live-recogniser.js';
import { StreamingEngine } from './streaming-engine.js';
import { POCKETSPHINX } from './streaming-model.js';
import { UtteranceCutter, type UtterancePart } from './utterance-cutter.js';

export { NoLiveWordsError } from './live-recogniser.js';

/** What is to be recognised, and for whom. */
export interface LiveSpeech {
  accountId: string;
  /** The engines of the account as stored, or null for those of the service. */
  accountEngines: unknown;
  language: string | null;
  languages: readonly string[] | null;
  vocabulary?: VocabularySources | undefined;
}

/** Audio while it is recorded. */
export interface LiveAudio extends AudioStream {
  /** Where in the recording the recognition begins. */
  startSeconds: number;
  /** Of the bytes' audio: what was recognised before. */
  skipSeconds: number;
  /** False: only the end of the bytes and the longest length end an utterance. */
  cutsAtPauses: boolean;
  signal: AbortSignal;
}

/** Times in seconds from the start of the recording. */
export type LiveEvent =
  | { type: 'speech_started'; at: number }
  | { type: 'words'; words: readonly TranscriptWord[] }
  | { type: 'speech_stopped'; at: number }
  /** The utterance has no words: the engine is not available now. */
  | { type: 'unavailable' }
  | { type: 'text'; text: string; words: readonly TranscriptWord[]; start: number; end: number };

/** So long a broken folder of the streaming model is not read again. */
const RECHECK_MS = 10_000;

/** Recognises words while audio comes, in the role `transcriber`. */
@Injectable()
export class LiveRecognitionService implements OnApplicationShutdown {
  private readonly logger = new Logger(LiveRecognitionService.name);
  private readonly pocketSphinx: StreamingEngine;
  private readonly findSherpa = sharedRun(async () => this.loadSherpa(), RECHECK_MS);
  private sherpa: StreamingEngine | null = null;

  constructor(
    private readonly env: Env,
    private readonly runtimes: EngineRuntimesService,
    private readonly speech: SpeechDetectionService,
    @Optional() @Inject(TRANSCRIPT_FILTERS) private readonly filters: readonly TranscriptFilter[] = [],
  ) {
    this.pocketSphinx = new StreamingEngine(POCKETSPHINX, env.sandbox);
    // An operator is told at the start.
    void this.findSherpa();
  }

  /** Processes that recognise while one speaks. */
  get processes(): number {
    return this.pocketSphinx.processes + (this.sherpa?.processes ?? 0);
  }

  /** For one recording. The caller closes it. @throws NoLiveWordsError, EngineUnavailableError */
  async open(speech: LiveSpeech): Promise<LiveRecogniser> {
    const { liveEngine } = this.env;
    if (liveEngine === 'off') throw new NoLiveWordsError('Words while one speaks are switched off here.');
    // A filter sees a whole text, and nothing may be sent before.
    if (this.filters.length > 0) throw new NoLiveWordsError('There are no words while one speaks: texts are filtered.');
    const runtime = this.runtimeFor(speech);
    let unavailable: EngineUnavailableError | null = null;
    for (const engine of await this.streamingEngines(speech, runtime)) {
      try {
        return await engine.open();
      } catch (error) {
        if (!(error instanceof EngineUnavailableError)) throw error;
        unavailable = error;
        this.logger.warn({ engine: engine.name, problem: error.message }, 'streaming engine cannot be used');
      }
    }
    if (!runtime)
      throw unavailable ?? new NoLiveWordsError('No engine here recognises this language while one speaks.');
    const problem = await runtime.problem();
    if (problem !== null) throw new EngineUnavailableError(problem);
    const language = speech.languages?.length === 1 ? (speech.languages[0] ?? null) : speech.language;
    return new ChunkRecogniser(runtime, { ...speech, language });
  }

  /**
   * What is said, utterance by utterance, while the audio comes.
   * @throws AudioRejectedError, EngineError; what the bytes throw; the signal's reason.
   */
  async *listen(audio: LiveAudio, recogniser: LiveRecogniser): AsyncGenerator<LiveEvent> {
    const cutter = new UtteranceCutter(
      recogniser.maxSeconds,
      this.speech.open(),
      audio.startSeconds,
      audio.cutsAtPauses,
    );
    const utterance = new Utterance(recogniser);
    try {
      for await (const pcm of skip(this.decode(audio), audio.skipSeconds)) {
        yield* utterance.advance(await cutter.push(pcm));
        audio.signal.throwIfAborted();
      }
      yield* utterance.advance(await cutter.end());
    } finally {
      cutter.close();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.pocketSphinx.close(), this.sherpa?.close()]);
  }

  private decode(audio: LiveAudio): AsyncGenerator<Buffer> {
    const { maxAudioSeconds, sandbox } = this.env;
    return decodeStream(audio, { maxSeconds: maxAudioSeconds + 1, signal: audio.signal, sandbox });
  }

  /** Its own engine for the language, or that of LIVE_ENGINE. */
  private runtimeFor(speech: LiveSpeech): EngineRuntime | null {
    const { liveEngine } = this.env;
    const audio = { language: speech.language, languages: speech.languages, seconds: null, faults: 0 };
    try {
      const requested = liveEngine === 'auto' || liveEngine === POCKETSPHINX.provider ? null : liveEngine;
      const [choice] = this.runtimes.route(audio, speech.accountEngines, requested).choices;
      return choice ? this.runtimes.runtime(choice.name) : null;
    } catch (error) {
      if (error instanceof AudioRejectedError) return null;
      throw error;
    }
  }

  /** Those for the languages, also when nobody says which: not if the account's engine would find out. */
  private async streamingEngines(
    { language, languages }: LiveSpeech,
    runtime: EngineRuntime | null,
  ): Promise<StreamingEngine[]> {
    const { liveEngine } = this.env;
    const engines = [await this.findSherpa(), this.pocketSphinx].filter((engine) => engine !== null);
    const named = engines.filter(({ name }) => liveEngine === 'auto' || liveEngine === name);
    const asked = languages ?? (language === null ? null : [language]);
    if (asked) return named.filter((engine) => engine.speaks(asked));
    return liveEngine === 'auto' && runtime?.engine.detectsLanguage === true ? [] : named;
  }

  private loadSherpa(): StreamingEngine | null {
    const { liveEngine } = this.env;
    if (this.sherpa || (liveEngine !== 'auto' && liveEngine !== sherpaEngine.name)) return this.sherpa;
    try {
      const model = sherpaStreamingModel(this.env);
      if (model) this.sherpa = new StreamingEngine(model, this.env.sandbox);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      this.logger.error({ problem: error.message }, 'streaming model cannot be used');
    }
    return this.sherpa;
  }
}

/** Turns the parts of utterances into what is recognised in them. */
class Utterance {
  private start = 0;
  private isLost = false;
  private isUnavailable = false;

  constructor(private readonly recogniser: LiveRecogniser) {}

  async *advance(parts: readonly UtterancePart[]): AsyncGenerator<LiveEvent> {
    for (const part of parts) {
      if (part.type === 'start') {
        this.start = part.at;
        this.isLost = this.isUnavailable = false;
        yield { type: 'speech_started', at: part.at };
      } else if (part.type === 'audio') {
        const words = await this.attempt(() => this.recogniser.add(part.pcm), []);
        if (words.length > 0) yield { type: 'words', words: words.map((word) => this.placed(word)) };
      } else {
        yield { type: 'speech_stopped', at: part.at };
        const { text, words } = await this.attempt(() => this.recogniser.end(), { text: '', words: [] });
        const placed = words.map((word) => this.placed(word));
        if (this.isUnavailable) yield { type: 'unavailable' };
        yield { type: 'text', text, words: placed, start: this.start, end: part.at };
      }
    }
  }

  /** An utterance that ends the engine again and again, or finds none, has no words; the next one may have. */
  private async attempt<T>(recognise: () => Promise<T>, none: T): Promise<T> {
    if (this.isLost) return none;
    try {
      return await recognise();
    } catch (error) {
      this.isUnavailable = error instanceof EngineUnavailableError;
      const isOfAudio = error instanceof AudioRejectedError || (error instanceof EngineError && error.audioSuspected);
      this.isLost = this.isUnavailable || isOfAudio;
      if (!this.isLost) throw error;
      this.recogniser.drop();
      return none;
    }
  }

  private placed(word: TranscriptWord): TranscriptWord {
    return { ...word, start: this.start + word.start, end: this.start + word.end };
  }
}

async function* skip(pcm: AsyncIterable<Buffer>, seconds: number): AsyncGenerator<Buffer> {
  let skipped = Math.round(seconds * BYTES_PER_SECOND);
  skipped -= skipped % 2;
  for await (const bytes of pcm) {
    const from = Math.min(skipped, bytes.length);
    skipped -= from;
    if (from < bytes.length) yield bytes.subarray(from);
  }
}
