import { Controller, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { Env } from '../../platform/config/env.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { translate } from '../../platform/errors/error.filter.js';
import { sendText } from '../../platform/http/send-text.js';
import { requestIdOf } from '../../platform/observability/request-log.middleware.js';
import { TranscriptExportsService } from '../transcriptions/exports/transcript-exports.service.js';
import { AudioTranscriptionsService, type EngineTranscript } from './audio-transcriptions.service.js';
import { DescribeTranscription } from './compat.openapi.js';
import { TranscriptionTimeoutError } from './openai-errors.js';
import { TranscriptStream } from './answers/transcript-stream.js';
import type { TranscriptionOptions } from './transcription-form.js';
import { jsonOf, usageOf } from './answers/transcription-response.js';
import { WaitingRequestsService } from './waiting/waiting-requests.service.js';

const TEXT = 'text/plain; charset=utf-8';

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
    const release = this.waiting.take(principal.accountId);
    try {
      await this.answer(principal, request, response);
    } finally {
      release();
    }
  }

  private async answer(principal: Principal, request: Request, response: Response): Promise<void> {
    const { recordingId, isRepeat, options } = await this.transcriptions.accept(request, principal);
    response.setHeader('X-Recording-Id', recordingId);
    if (isRepeat) response.setHeader('Idempotent-Replayed', 'true');
    const setEngine = (engine: Engine): void => nameEngine(response, engine);
    const stream = options.stream ? new TranscriptStream(response, setEngine) : null;
    const waiting = new AbortController();
    const stopWatching = this.watch(response, waiting);
    try {
      const transcript = await this.transcriptions.waitForTranscript(
        principal.accountId,
        recordingId,
        waiting.signal,
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
      stopWatching();
    }
  }

  /** Aborts the wait when the client has gone, the time is over, or the process stops. @returns a function that ends the watch. */
  private watch(response: Response, waiting: AbortController): () => void {
    const { compatTimeoutSeconds: seconds } = this.env;
    const { stopping } = this.waiting;
    const timer = setTimeout(() => waiting.abort(new TranscriptionTimeoutError(seconds)), seconds * 1000);
    const leave = (): void => waiting.abort(new Error('client disconnected'));
    const stop = (): void => waiting.abort(stopping.reason);
    if (response.destroyed) leave();
    if (stopping.aborted) stop();
    response.once('close', leave);
    stopping.addEventListener('abort', stop);
    return () => {
      clearTimeout(timer);
      response.off('close', leave);
      stopping.removeEventListener('abort', stop);
    };
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

type Engine = Pick<EngineTranscript, 'provider' | 'model'>;

/** The engine that transcribed, whatever `model` the client asked for. */
function nameEngine(response: Response, { provider, model }: Engine): void {
  // Operators choose the names, and headers are ASCII.
  response.setHeader('X-Transcription-Engine', `${provider}/${model}`.replaceAll(/[^\x21-\x7e]/g, '?'));
}
