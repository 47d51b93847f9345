import { Controller, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { Env } from '../../platform/config/env.js';
import type { ApiError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { translate } from '../../platform/errors/error.filter.js';
import { sendText } from '../../platform/http/send-text.js';
import { requestIdOf } from '../../platform/observability/request-log.middleware.js';
import { TranscriptExportsService } from '../transcriptions/exports/transcript-exports.service.js';
import type { ChunkSignal } from '../transcriptions/transcript-signals.service.js';
import { AudioTranscriptionsService, type EngineTranscript } from './audio-transcriptions.service.js';
import { DescribeTranscription } from './compat.openapi.js';
import { openAiErrorBody, TranscriptionTimeoutError } from './openai-errors.js';
import type { TranscriptionOptions } from './transcription-form.js';
import { WaitingRequestsService } from './waiting-requests.service.js';

const TEXT = 'text/plain; charset=utf-8';
/** Keeps proxies from ending a stream without data. */
const COMMENT_MS = 15_000;

type Engine = Pick<EngineTranscript, 'provider' | 'model'>;

@ApiTags('Compatible')
@Controller('v1/audio/transcriptions')
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
  @Post()
  @HttpCode(200)
  @DescribeTranscription()
  @RequireScope('recordings:write', 'recordings:read')
  async create(
    @CurrentPrincipal() principal: Principal,
    @Req() request: Request,
    @Res() response: Response,
    @Query() _query: NoQuery,
  ): Promise<void> {
    const wait = this.waiting.add(principal.accountId, response);
    const { recordingId, isRepeat, options } = await this.transcriptions.accept(request, principal);
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
      if (stream) stream.end(transcript);
      else await this.send(principal.accountId, response, transcript, options);
    } catch (error) {
      // The client has disconnected.
      if (response.destroyed) return;
      if (!stream?.hasBegun) throw error;
      stream.fail(translate(error, requestIdOf(request)));
    } finally {
      clearTimeout(timer);
    }
  }

  private async send(
    accountId: string,
    response: Response,
    transcript: EngineTranscript,
    { format, granularities }: TranscriptionOptions,
  ): Promise<void> {
    nameEngine(response, transcript);
    const { text, words, durationSeconds, language, confidence } = transcript;
    switch (format) {
      case 'json':
        response.json(jsonOf(transcript));
        break;
      case 'verbose_json': {
        const withWords = granularities.includes('word');
        const withSegments = !withWords || granularities.includes('segment');
        const source = { text, words, durationSeconds, language, confidence, usage: usageOf(transcript) };
        const json = await this.exports.verboseJson(accountId, { ...source, withWords, withSegments });
        response.setHeader('Content-Type', 'application/json; charset=utf-8');
        sendText(response, json);
        break;
      }
      case 'text':
        response.setHeader('Content-Type', TEXT);
        sendText(response, `${text}\n`);
        break;
      case 'srt':
      case 'vtt':
        response.setHeader('Content-Type', TEXT);
        sendText(response, await this.exports.render(accountId, { format, text, words, durationSeconds }));
        break;
    }
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

  end(transcript: EngineTranscript): void {
    this.begin(transcript);
    // Another attempt may have another text than the one that was sent: `done` has the right one.
    const rest = transcript.text.startsWith(this.sent) ? transcript.text.slice(this.sent.length) : '';
    if (rest !== '') this.sendDelta(rest);
    this.send({ type: 'transcript.text.done', text: transcript.text, usage: usageOf(transcript) });
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
    this.response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
}

/** How OpenAI bills audio, which some clients read. */
const usageOf = ({ durationSeconds }: Pick<EngineTranscript, 'durationSeconds'>): object => ({
  type: 'duration',
  seconds: Math.ceil(durationSeconds),
});

const jsonOf = (transcript: EngineTranscript): object => ({ text: transcript.text, usage: usageOf(transcript) });
