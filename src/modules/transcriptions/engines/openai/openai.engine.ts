import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from '../../../../platform/config/env.js';
import { languageCode } from '../../../../platform/languages/languages.js';
import { BYTES_PER_SECOND } from '../../decoding/pcm.js';
import { readAnswer } from './openai.answer.js';
import { type FormFields, transcriptionForm, type TranscriptionForm } from './openai.form.js';
import { asError, asksTooMuch, describeNoReply, isForNow, keyRefused } from './openai.refusal.js';
import { NoReply, OpenAiServer, type ServerReply } from './openai.server.js';
import {
  type AudioChunk,
  EngineError,
  type TranscribeOptions,
  type ChunkTranscript,
  type TranscriptionEngine,
} from '../transcription-engine.js';

type OpenAiSettings = Pick<Env, 'openaiBaseUrl' | 'openaiApiKey' | 'openaiModel' | 'transcriptionConcurrency'>;

/** All in milliseconds. A piece may take `limit` and `limitPerSecond` for each second of its audio. */
export interface OpenAiTimes {
  limit: number;
  limitPerSecond: number;
  /** The wait before the second try; each later one is four times as long. */
  backoff: number;
  /** The sum of all waits. A server that wants more patience gets it from the queue, not from here. */
  patience: number;
  problemLimit: number;
  problemKept: number;
}

const TIMES: OpenAiTimes = {
  limit: 60_000,
  limitPerSecond: 2000,
  backoff: 1000,
  patience: 120_000,
  problemLimit: 3000,
  problemKept: 10_000,
};

const HOSTED = 'https://api.openai.com/v1';
const TRIES = 4;
const DEFAULT_CONCURRENCY = 4;

/** Hosted servers refuse shorter audio as broken; nothing is said in so little of it. In seconds. */
const SHORTEST = 0.1;

/** How much is asked, most first. What a server refuses is not asked of it again. */
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

/** Whisper's code where it is not that of ISO 639-1. */
const WHISPER_CODES: Readonly<Record<string, string>> = { jv: 'jw' };

/** Any server that speaks `POST /audio/transcriptions`: whisper.cpp, speaches, vLLM, OpenAI and other hosted ones. */
export class OpenAiEngine implements TranscriptionEngine {
  readonly name = 'openai';
  readonly model: string;
  readonly languages = 'any';
  readonly defaultLanguage = 'english';
  /** 19.2 MB as WAV; hosted servers refuse 25 MB. */
  readonly maxChunkSeconds = 600;
  readonly concurrency: number;
  private readonly apiKey: string | null;
  private readonly hosted: boolean;
  private readonly server: OpenAiServer;
  /** Index in DETAILS of the most that the server has been seen to take. */
  private detail = 0;
  private lastProblem: { at: number; answer: Promise<string | null> } | null = null;

  constructor(
    settings: OpenAiSettings,
    private readonly times: OpenAiTimes = TIMES,
  ) {
    this.model = settings.openaiModel;
    this.apiKey = settings.openaiApiKey;
    this.hosted = settings.openaiBaseUrl === null;
    this.concurrency = settings.transcriptionConcurrency ?? DEFAULT_CONCURRENCY;
    // One connection more, so that `problem` never waits behind audio.
    this.server = new OpenAiServer(settings.openaiBaseUrl ?? HOSTED, this.apiKey, this.concurrency + 1);
  }

  async transcribe({ pcm }: AudioChunk, { language, signal }: TranscribeOptions): Promise<ChunkTranscript> {
    const seconds = pcm.length / BYTES_PER_SECOND;
    if (seconds > this.maxChunkSeconds) throw new RangeError(`A piece of ${seconds} s is more than one request takes`);
    const asked = { language: language ?? this.defaultLanguage, seconds };
    if (seconds < SHORTEST) return readAnswer({ text: '' }, asked);
    const limitMs = this.times.limit + seconds * this.times.limitPerSecond;
    for (let detail = this.detail; ; detail++) {
      const form = transcriptionForm([...this.fieldsFor(language), ...(DETAILS[detail] ?? [])], pcm);
      const reply = await this.sendPatiently(form, { limitMs, signal });
      if (reply.status >= 200 && reply.status < 300) {
        this.detail = Math.max(this.detail, detail);
        return this.read(reply, asked);
      }
      if (detail + 1 >= DETAILS.length || !asksTooMuch(reply)) throw this.errorFor(reply);
    }
  }

  async problem(): Promise<string | null> {
    if (this.lastProblem === null || Date.now() - this.lastProblem.at > this.times.problemKept) {
      this.lastProblem = { at: Date.now(), answer: this.findProblem() };
    }
    return await this.lastProblem.answer;
  }

  async close(): Promise<void> {
    await this.server.close();
  }

  private fieldsFor(language: string | null): FormFields {
    const code = language === null ? null : languageCode(language);
    const model = ['model', this.model] as const;
    return code === null ? [model] : [model, ['language', WHISPER_CODES[code] ?? code]];
  }

  /** Sends, and sends again what may do better in a moment. @throws EngineError when no answer came. */
  private async sendPatiently(
    form: TranscriptionForm,
    options: { limitMs: number; signal: AbortSignal },
  ): Promise<ServerReply> {
    let patience = this.times.patience;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.send(form, options);
      const final = outcome instanceof NoReply ? outcome.timedOut : !isForNow(outcome);
      const asked = outcome instanceof NoReply ? null : outcome.retryAfterMs;
      const wait = asked ?? this.times.backoff * 4 ** (attempt - 1) * (0.5 + Math.random());
      if (final || attempt >= TRIES || wait > patience) {
        if (outcome instanceof NoReply) throw this.faultFor(outcome);
        return outcome;
      }
      patience -= wait;
      await waitFor(wait, options.signal);
    }
  }

  private async send(
    form: TranscriptionForm,
    options: { limitMs: number; signal: AbortSignal },
  ): Promise<ServerReply | NoReply> {
    try {
      return await this.server.post('/audio/transcriptions', form, options);
    } catch (error) {
      if (error instanceof NoReply) return error;
      throw error;
    }
  }

  private read(reply: ServerReply, asked: { language: string; seconds: number }): ChunkTranscript {
    try {
      // Some servers answer with the bare text, whatever was asked for.
      return readAnswer(reply.text === null ? reply.json : { text: reply.text }, asked);
    } catch (cause) {
      if (!(cause instanceof TypeError)) throw cause;
      throw this.errorFor(reply, cause);
    }
  }

  private errorFor(reply: ServerReply, cause?: TypeError): Error {
    const error = asError(reply, this.server.address, this.apiKey);
    return cause ? new EngineError(`${error.message} (no transcript)`, false, { cause }) : error;
  }

  private faultFor(noReply: NoReply): EngineError {
    return new EngineError(describeNoReply(noReply, this.server.address), false, { cause: noReply });
  }

  private async findProblem(): Promise<string | null> {
    const { address } = this.server;
    if (this.hosted && this.apiKey === null) return keyRefused(address, false);
    try {
      const { status } = await this.server.get('/models', { limitMs: this.times.problemLimit });
      if (status === 401) return keyRefused(address, this.apiKey !== null);
      // Whatever else: a list of models is not what it is for, and whisper-server, for one, has none.
      return status >= 500 ? `The transcription server ${address} (OPENAI_BASE_URL) answers ${status}.` : null;
    } catch (error) {
      if (error instanceof NoReply) return describeNoReply(error, address);
      throw error;
    }
  }
}

/** @throws the signal's reason when it is aborted. */
async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
