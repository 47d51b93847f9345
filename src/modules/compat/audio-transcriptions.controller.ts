import { Controller, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { Env } from '../../platform/config/env.js';
import type { ApiError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { translate as asApiError } from '../../platform/errors/error.filter.js';
import { languageCode } from '../../platform/languages.js';
import { sendText } from '../../platform/http/send-text.js';
import { requestIdOf } from '../../platform/observability/request-log.middleware.js';
import { TranscriptExportsService } from '../transcriptions/exports/transcript-exports.service.js';
import type { ChunkSignal } from '../transcriptions/transcript-signals.service.js';
import { AudioTranscriptionsService, type EngineTranscript, noSpeakers } from './audio-transcriptions.service.js';
import { DescribeTranscription, DescribeTranslation } from './compat.openapi.js';
import { openAiErrorBody, TranscriptionTimeoutError } from './openai-errors.js';
import type { Task, TranscriptionOptions } from './transcription-form.js';
import { WaitingRequestsService } from './waiting-requests.service.js';

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
/** Keeps proxies from ending a stream without data. */
const COMMENT_MS = 15_000;

type Engine = Pick<EngineTranscript, 'provider' | 'model'>;

@ApiTags('Compatible')
@Controller('v1/audio')
export class AudioTranscriptionsController {
  constructor(
    private readonly transcriptions: AudioTranscriptionsService,
    private readonly exports: TranscriptExportsService,
    private readonly waiting: WaitingRequestsService,
    private readonly env: Env,
  ) {}

  /**
   * Transcribe audio and wait for the text
   *
   * @remarks
   * For clients of OpenAI. The audio is stored as any other recording; the response waits for its transcription.
   */
  @Post('transcriptions')
  @HttpCode(200)
  @DescribeTranscription()
  @RequireScope('recordings:write', 'recordings:read')
  async create(
    @CurrentPrincipal() principal: Principal,
    @Req() request: Request,
    @Res() response: Response,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.answer(principal, request, response, 'transcribe');
  }

  /**
   * Translate audio into English and wait for the text
   *
   * @remarks
   * For clients of OpenAI. Needs an engine that translates, such as a server with this operation of OpenAI. The recording is
   * like any other; its transcription is the English text.
   */
  @Post('translations')
  @HttpCode(200)
  @DescribeTranslation()
  @RequireScope('recordings:write', 'recordings:read')
  async translate(
    @CurrentPrincipal() principal: Principal,
    @Req() request: Request,
    @Res() response: Response,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.answer(principal, request, response, 'translate');
  }

  private async answer(principal: Principal, request: Request, response: Response, task: Task): Promise<void> {
    const wait = this.waiting.add(principal.accountId, response);
    const { recordingId, isRepeat, options } = await this.transcriptions.accept(request, principal, task);
    response.setHeader('X-Recording-Id', recordingId);
    if (isRepeat) response.setHeader('Idempotent-Replayed', 'true');
    const stream = options.stream ? new TranscriptStream(response) : null;
    const { compatTimeoutSeconds: seconds } = this.env;
    const timer = setTimeout(() => wait.abort(new TranscriptionTimeoutError(seconds)), seconds * 1000);
    try {
      const transcript = await this.transcriptions.waitForTranscript(
        principal.accountId,
        recordingId,
        wait.signal,
        (chunk) => stream?.add(chunk),
      );
      if (response.destroyed) return;
      if (stream) await this.endStream(principal.accountId, stream, transcript, options);
      else await this.send(principal.accountId, response, transcript, options);
    } catch (error) {
      // The client has disconnected.
      if (response.destroyed) return;
      if (!stream?.hasBegun) throw error;
      stream.fail(asApiError(error, requestIdOf(request)));
    } finally {
      clearTimeout(timer);
    }
  }

  private async endStream(
    accountId: string,
    stream: TranscriptStream,
    transcript: EngineTranscript,
    options: TranscriptionOptions,
  ): Promise<void> {
    if (options.format === 'diarized_json') {
      const segments = JSON.parse(await this.segments(accountId, transcript)) as object[];
      stream.end(transcript, null, segments);
    } else {
      stream.end(transcript, await this.logprobs(accountId, transcript, options));
    }
  }

  private async send(
    accountId: string,
    response: Response,
    transcript: EngineTranscript,
    options: TranscriptionOptions,
  ): Promise<void> {
    const { task, format, granularities } = options;
    nameEngine(response, transcript);
    const { recordingId, text, words, names, durationSeconds, language, confidence } = transcript;
    switch (format) {
      case 'json': {
        const logprobs = await this.logprobs(accountId, transcript, options);
        const fields = { text, ...heardOf(transcript), usage: usageOf(transcript) };
        if (logprobs === null) {
          response.json(fields);
          break;
        }
        response.setHeader('Content-Type', JSON_TYPE);
        sendText(response, jsonWith(fields, logprobs));
        break;
      }
      case 'verbose_json': {
        const withWords = granularities.includes('word');
        const withSegments = !withWords || granularities.includes('segment');
        const source = { task, text, words, durationSeconds, language, confidence, usage: usageOf(transcript) };
        const json = await this.exports.verboseJson(accountId, { ...source, withWords, withSegments });
        response.setHeader('Content-Type', JSON_TYPE);
        sendText(response, json);
        break;
      }
      case 'diarized_json': {
        const segments = await this.segments(accountId, transcript);
        const fields = JSON.stringify({ task, duration: durationSeconds, text });
        response.setHeader('Content-Type', JSON_TYPE);
        const usage = JSON.stringify(usageOf(transcript));
        sendText(response, `${fields.slice(0, -1)},"segments":${segments},"usage":${usage}}`);
        break;
      }
      case 'text':
        response.setHeader('Content-Type', TEXT);
        sendText(response, `${text}\n`);
        break;
      case 'srt':
      case 'vtt':
        response.setHeader('Content-Type', TEXT);
        sendText(
          response,
          await this.exports.render(accountId, { format, recordingId, text, words, durationSeconds, names }),
        );
        break;
    }
  }

  /** JSON text of the list. @throws InvalidRequestError where speakers were not told apart */
  private async segments(
    accountId: string,
    { text, words, durationSeconds, names, speakersProblem }: EngineTranscript,
  ): Promise<string> {
    const segments = await this.exports.diarizedSegments(accountId, { text, words, durationSeconds, names });
    if (segments === null) throw noSpeakers(speakersProblem);
    return segments;
  }

  /** JSON text of the list, or null if it was not asked for. */
  private async logprobs(
    accountId: string,
    { text, words, confidence }: EngineTranscript,
    { include }: TranscriptionOptions,
  ): Promise<string | null> {
    return include.includes('logprobs') ? await this.exports.logprobs(accountId, { text, words, confidence }) : null;
  }
}

/** The engine that transcribed, whatever `model` the client asked for. */
function nameEngine(response: Response, { provider, model }: Engine): void {
  // Operators choose the names, and headers are ASCII.
  response.setHeader('X-Transcription-Engine', `${provider}/${model}`.replaceAll(/[^\x21-\x7e]/g, '?'));
}

/**
 * The answer to `stream: true`: a delta for each chunk, the whole text, and `[DONE]`. It begins with the first delta, so
 * that until then an error has a status of its own.
 */
export class TranscriptStream {
  private sent = '';
  /** The attempt and engine of the first chunk: another one starts the text again. */
  private source: string | null = null;
  private comments: NodeJS.Timeout | undefined;

  constructor(private readonly response: Response) {
    response.once('close', () => clearInterval(this.comments));
  }

  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  /** Chunks that do not continue the text are left out: the end makes up for them. */
  add(chunk: ChunkSignal): void {
    const source = `${chunk.attempt} ${chunk.provider}`;
    this.source ??= source;
    if (source !== this.source || chunk.offset !== this.sent.length) return;
    this.begin(chunk);
    this.sendDelta(chunk.text);
  }

  /** @param logprobs JSON text of the list, or null. @param segments events of their own, once all speakers are known */
  end(transcript: EngineTranscript, logprobs: string | null = null, segments: readonly object[] = []): void {
    this.begin(transcript);
    // Another attempt may have another text than the one that was sent: `done` has the right one.
    const rest = transcript.text.startsWith(this.sent) ? transcript.text.slice(this.sent.length) : '';
    if (rest !== '') this.sendDelta(rest);
    for (const segment of segments) this.send(segment);
    const { text } = transcript;
    const done = { type: 'transcript.text.done', text, ...heardOf(transcript), usage: usageOf(transcript) };
    this.write(jsonWith(done, logprobs));
    this.response.end('data: [DONE]\n\n');
  }

  /** For an error after the beginning. Without `[DONE]`, so that no client takes it for the end. */
  fail(error: ApiError): void {
    this.send(openAiErrorBody(error));
    this.response.end();
  }

  private begin(engine: Engine): void {
    if (this.hasBegun) return;
    nameEngine(this.response, engine);
    this.response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
    // nginx would keep the events until the end.
    this.response.setHeader('X-Accel-Buffering', 'no');
    this.response.flushHeaders();
    this.comments = setInterval(() => this.response.write(': waiting\n\n'), COMMENT_MS).unref();
  }

  private sendDelta(delta: string): void {
    this.sent += delta;
    this.send({ type: 'transcript.text.delta', delta });
  }

  private send(event: object): void {
    this.write(JSON.stringify(event));
  }

  private write(json: string): void {
    this.response.write(`data: ${json}\n\n`);
  }
}

/** How OpenAI bills audio, which some clients read. */
const usageOf = ({ durationSeconds }: Pick<EngineTranscript, 'durationSeconds'>): object => ({
  type: 'duration',
  seconds: Math.ceil(durationSeconds),
});

/** As newer models of OpenAI name the languages of a list that were heard (D69). */
const heardOf = ({ languages }: EngineTranscript): object =>
  languages === null ? {} : { languages: languages.map((name) => ({ code: languageCode(name) ?? name })) };

/** A long list is written as text by a thread. */
const jsonWith = (fields: object, logprobs: string | null): string => {
  const json = JSON.stringify(fields);
  return logprobs === null ? json : `${json.slice(0, -1)},"logprobs":${logprobs}}`;
};
