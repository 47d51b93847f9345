import type { Env } from '../../../../platform/config/env.js';
import { languageCode, whisperCode } from '../../../../platform/languages.js';
import { BYTES_PER_SECOND } from '../../audio/pcm.js';
import { sharedRun } from '../../../../platform/concurrency/shared-run.js';
import { clientCertificate, Egress } from '../../../../platform/http/outgoing/egress.js';
import { pause } from '../../../../platform/concurrency/retry.js';
import {
  type AudioChunk,
  AudioRejectedError,
  type ChunkTranscript,
  type EngineDefinition,
  EngineError,
  EngineUnavailableError,
  type TranscribeOptions,
  type TranscriptionEngine,
} from '../transcription-engine.js';
import {
  type FormFields,
  NoResponseError,
  OpenAiClient,
  type OpenAiResponse,
  promptOf,
  transcriptionForm,
} from './openai.client.js';
import {
  describeNoResponse,
  isTooDetailed,
  isTransient,
  keyRefused,
  offersNoTranslations,
  refusesPrompt,
  toEngineError,
} from './openai.errors.js';
import { NO_TRANSLATION } from '../engine-choice.js';
import { readTranscript } from './openai.response.js';

type OpenAiSettings = Pick<Env, 'openaiBaseUrl' | 'openaiApiKey' | 'openaiModel' | 'transcriptionConcurrency'> &
  Partial<Env>;

/** All in milliseconds. A request may take `limit`, plus `limitPerSecond` for each second of its audio. */
export interface OpenAiTimes {
  limit: number;
  limitPerSecond: number;
  /** The delay before the second attempt. Each later one is four times as long. */
  backoff: number;
  /** The maximum sum of all delays. A server that asks for more gets it from the job queue. */
  maxDelay: number;
  problemLimit: number;
  problemKept: number;
}

const TIMES: OpenAiTimes = {
  limit: 60_000,
  limitPerSecond: 2000,
  backoff: 1000,
  maxDelay: 120_000,
  problemLimit: 3000,
  problemKept: 10_000,
};

const NAME = 'openai';
const HOSTED_URL = 'https://api.openai.com/v1';
const MAX_ATTEMPTS = 4;
const DEFAULT_CONCURRENCY = 4;
const MAX_TERMS = 15;

/** Models that take `languages[]`. */
const TAKES_LANGUAGES = /^gpt-transcribe/;

/** Hosted servers refuse shorter audio as broken. It is too short for a word. */
const MIN_SECONDS = 0.1;

/** Details to request, most first. What a server refuses is not requested again. */
const DETAILS: readonly FormFields[] = [
  [
    ['response_format', 'verbose_json'],
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
  ],
  [
    ['response_format', 'json'],
    ['include[]', 'logprobs'],
  ],
  [['response_format', 'json']],
];

const TRANSLATION_DETAILS: readonly FormFields[] = [
  [['response_format', 'verbose_json']],
  [['response_format', 'json']],
];

/** So long a server without translations is not asked for one again. */
const NO_TRANSLATIONS_MS = 600_000;

/** Any server with `POST /audio/transcriptions`: whisper.cpp, speaches, vLLM, OpenAI and other hosted services. */
export class OpenAiEngine implements TranscriptionEngine {
  readonly name = NAME;
  readonly model: string;
  readonly languages = 'any';
  readonly defaultLanguage = 'english';
  readonly detectsLanguage = true;
  /** 19.2 MB as WAV; hosted servers refuse 25 MB. */
  readonly maxChunkSeconds = 600;
  readonly concurrency: number;
  private readonly apiKey: string | null;
  private readonly hosted: boolean;
  private readonly client: OpenAiClient;
  private readonly lastProblem: () => Promise<string | null>;
  /** For each operation, the index in its list of the most that the server has accepted. */
  private readonly detail = { transcriptions: 0, translations: 0 };
  private noTranslationsUntil = 0;
  /** Until the server refuses a prompt. */
  private takesPrompt = true;

  get translates(): boolean {
    return performance.now() >= this.noTranslationsUntil;
  }

  /** As many as improve the text: a long prompt makes Whisper's worse. */
  get maxVocabularyTerms(): number {
    return this.takesPrompt ? MAX_TERMS : 0;
  }

  constructor(
    settings: OpenAiSettings,
    private readonly times: OpenAiTimes = TIMES,
  ) {
    this.model = settings.openaiModel;
    this.apiKey = settings.openaiApiKey;
    this.hosted = settings.openaiBaseUrl === null;
    this.concurrency = settings.transcriptionConcurrency ?? DEFAULT_CONCURRENCY;
    // One connection more, so that the health check never waits behind audio.
    this.client = new OpenAiClient(settings.openaiBaseUrl ?? HOSTED_URL, this.apiKey, this.concurrency + 1, {
      egress: Egress.of(settings),
      certificate: clientCertificate(settings.openaiClientCert, settings.openaiClientKey),
    });
    this.lastProblem = sharedRun(() => this.findProblem(), times.problemKept);
  }

  async transcribe({ pcm }: AudioChunk, options: TranscribeOptions): Promise<ChunkTranscript> {
    const { translate = false, vocabulary, signal } = options;
    const operation = translate ? 'translations' : 'transcriptions';
    const details = translate ? TRANSLATION_DETAILS : DETAILS;
    const seconds = pcm.length / BYTES_PER_SECOND;
    if (seconds > this.maxChunkSeconds) throw new RangeError(`A chunk of ${seconds} s is too long for one request`);
    const requested = { language: options.language ?? this.defaultLanguage, seconds };
    if (seconds < MIN_SECONDS) return readTranscript({ text: '' }, requested);
    const limitMs = this.times.limit + seconds * this.times.limitPerSecond;
    let prompt = this.takesPrompt ? promptOf(vocabulary) : [];
    for (let detail = this.detail[operation]; ;) {
      const form = transcriptionForm([...this.fieldsFor(options), ...prompt, ...(details[detail] ?? [])], pcm);
      const response = await this.sendWithRetries(`/audio/${operation}`, form, { limitMs, signal });
      if (response.status >= 200 && response.status < 300) {
        this.detail[operation] = Math.max(this.detail[operation], detail);
        return this.read(response, requested);
      }
      if (translate && offersNoTranslations(response)) {
        this.noTranslationsUntil = performance.now() + NO_TRANSLATIONS_MS;
        throw new AudioRejectedError(NO_TRANSLATION);
      }
      if (prompt.length > 0 && refusesPrompt(response)) {
        this.takesPrompt = false;
        prompt = [];
        continue;
      }
      detail++;
      if (detail >= details.length || !isTooDetailed(response)) throw this.errorFor(response);
    }
  }

  async problem(): Promise<string | null> {
    return await this.lastProblem();
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  /** Only newer models of OpenAI take several languages. Others are asked for the one that they detect. */
  private fieldsFor({ language, languages = [], translate }: TranscribeOptions): FormFields {
    if (translate) return [['model', this.model]];
    const [name, given] = language === null ? ['languages[]', languages] : ['language', [language]];
    const isUnderstood = name === 'language' || TAKES_LANGUAGES.test(this.model);
    const codes = isUnderstood ? given.flatMap((each) => languageCode(each) ?? []) : [];
    return [['model', this.model], ...codes.map((code) => [name, whisperCode(code)] as const)];
  }

  /** Retries what may soon succeed. @throws EngineError when no response came. */
  private async sendWithRetries(
    path: string,
    form: ReturnType<typeof transcriptionForm>,
    options: { limitMs: number; signal: AbortSignal },
  ): Promise<OpenAiResponse> {
    let delayLeft = this.times.maxDelay;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.send(path, form, options);
      const final = outcome instanceof NoResponseError ? outcome.timedOut : !isTransient(outcome);
      const requested = outcome instanceof NoResponseError ? null : outcome.retryAfterMs;
      const wait = requested ?? this.times.backoff * 4 ** (attempt - 1) * (0.5 + Math.random());
      if (final || attempt >= MAX_ATTEMPTS || wait > delayLeft) {
        if (outcome instanceof NoResponseError) throw this.unreachable(outcome);
        return outcome;
      }
      delayLeft -= wait;
      await pause(wait, options.signal);
    }
  }

  private async send(
    path: string,
    form: ReturnType<typeof transcriptionForm>,
    options: { limitMs: number; signal: AbortSignal },
  ): Promise<OpenAiResponse | NoResponseError> {
    try {
      return await this.client.post(path, form, options);
    } catch (error) {
      if (error instanceof NoResponseError) return error;
      throw error;
    }
  }

  private read(response: OpenAiResponse, requested: { language: string; seconds: number }): ChunkTranscript {
    try {
      // Some servers return plain text, whatever format was requested.
      return readTranscript(response.text === null ? response.json : { text: response.text }, requested);
    } catch (cause) {
      if (!(cause instanceof TypeError)) throw cause;
      throw this.errorFor(response, cause);
    }
  }

  private errorFor(response: OpenAiResponse, cause?: TypeError): Error {
    const error = toEngineError(response, this.client.address, this.apiKey);
    return cause ? new EngineError(`${error.message} (no transcript)`, false, { cause }) : error;
  }

  private unreachable(error: NoResponseError): EngineError {
    const message = describeNoResponse(error, this.client.address);
    // A server that is too slow, or sends too much, may be so for this audio only.
    const aboutAudio = error.timedOut || error.code === 'RESPONSE_TOO_LONG';
    return aboutAudio
      ? new EngineError(message, false, { cause: error })
      : new EngineUnavailableError(message, { cause: error });
  }

  private async findProblem(): Promise<string | null> {
    const { address } = this.client;
    if (this.hosted && this.apiKey === null) return keyRefused(address, false);
    try {
      const { status } = await this.client.get('/models', { limitMs: this.times.problemLimit });
      if (status === 401) return keyRefused(address, this.apiKey !== null);
      // Any other status shows that the server is up. Some servers, such as whisper-server, have no list of models.
      return status >= 500 ? `The transcription server ${address} (OPENAI_BASE_URL) answers ${status}.` : null;
    } catch (error) {
      if (error instanceof NoResponseError) return describeNoResponse(error, address);
      throw error;
    }
  }
}

export const openAiEngine: EngineDefinition = {
  name: NAME,
  create: (env) => new OpenAiEngine(env),
  isConfigured: (env) => env.openaiBaseUrl !== null || env.openaiApiKey !== null,
  variables: 'OPENAI_BASE_URL or OPENAI_API_KEY',
  modelVariable: 'OPENAI_MODEL',
};
