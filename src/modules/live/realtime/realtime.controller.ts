import type { Response } from 'express';
import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import { AllowAccessToken, CurrentPrincipal, type IdentifiedRequest } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { Env } from '../../../platform/config/env.js';
import {
  ConflictError,
  InvalidRequestError,
  MalformedRequestError,
  NotFoundError,
  PermissionError,
  UpgradeRequiredError,
} from '../../../platform/errors/errors.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { type Upgrade, upgradeOf } from '../../../platform/http/server/upgrade.js';
import { parseLanguages } from '../../../platform/languages.js';
import { parseVocabulary } from '../../../platform/vocabulary.js';
import { readCustomTags, readSpeakers } from '../../recordings/upload/growing-uploads.service.js';
import { type LiveAudioType, type LiveRecording, LiveRecordingsService } from '../live-recordings.service.js';
import { OpenAiProtocol } from './openai-protocol.js';
import { PlainProtocol } from './plain-protocol.js';
import type { RecordingSettings } from './realtime-client.js';
import { RealtimeSessionsService, SUBPROTOCOL } from './realtime-sessions.service.js';
import { RealtimeQuery } from './realtime.dto.js';

const OPENAI_AUDIO: LiveAudioType = { format: 'pcm16', sampleRate: 24_000 };
const VERSION = '13';
const KEY = /^[A-Za-z0-9+/]{22}==$/;
const TOKEN_LIST = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;
const BETA_PROTOCOL = 'openai-beta.realtime-v1';

@ApiTags('Live')
@Controller('v1/realtime')
export class RealtimeController {
  constructor(
    private readonly live: LiveRecordingsService,
    private readonly sessions: RealtimeSessionsService,
    private readonly env: Env,
  ) {}

  /**
   * Record and read the words meanwhile
   *
   * @remarks
   * A WebSocket (RFC 6455). With `intent=transcription` it speaks the realtime protocol of OpenAI; with `format` a plain
   * one: audio in binary messages, small JSON texts in return. What is sent is a recording from its first second. With
   * `recording` a client goes on after its connection broke. The messages and the close codes are in the documentation of
   * the interface (D90). A browser, which cannot set headers, offers the subprotocols `realtime` and
   * `openai-insecure-api-key.` followed by its key pair or access token.
   */
  @Get()
  @ApiResponse({ status: 101, description: 'The connection is a WebSocket now.' })
  @ApiErrors(
    new NotFoundError('recording'),
    new ConflictError('This recording has ended, so nothing can be added. Begin another one.'),
    new UpgradeRequiredError('This operation is a WebSocket. Connect with wss://, as RFC 6455 says.'),
  )
  @AllowAccessToken('recordings:write')
  async open(
    @CurrentPrincipal() principal: Principal,
    @Query() query: RealtimeQuery,
    @Req() request: IdentifiedRequest,
    @Res() response: Response,
  ): Promise<void> {
    const upgrade = this.checkHandshake(request, response);
    this.checkOrigin(request);
    this.sessions.checkOpen();
    const isOpenAi = query.intent !== undefined || query.model !== undefined;
    const settings = isOpenAi ? openAiSettings(query) : plainSettings(query);
    const begin = (wanted: RecordingSettings): Promise<LiveRecording> =>
      this.live.begin(principal, {
        ...wanted,
        clientIp: request.ip ?? null,
        userAgent: request.headers['user-agent'] ?? null,
      });
    const resumed = query.recording === undefined ? null : await this.resume(principal, query.recording, settings);
    const recording = resumed ?? (isOpenAi ? null : await begin(settings));
    const accepted = this.sessions.accept(request, response, upgrade, {
      recording,
      isResumed: resumed !== null,
      begin,
      protocolOf: (controls) =>
        isOpenAi ? new OpenAiProtocol(controls, settings, asksForBeta(request)) : new PlainProtocol(controls, settings),
    });
    if (!accepted && recording && !resumed) await this.live.end(recording.recordingId, 'abandoned');
  }

  /** @throws UpgradeRequiredError, MalformedRequestError, InvalidRequestError */
  private checkHandshake(request: IdentifiedRequest, response: Response): Upgrade {
    const upgrade = upgradeOf(request);
    const { headers } = request;
    if (!upgrade || headers['sec-websocket-version'] !== VERSION) {
      response.setHeader('Upgrade', 'websocket');
      response.setHeader('Connection', 'Upgrade');
      response.setHeader('Sec-WebSocket-Version', VERSION);
      throw new UpgradeRequiredError('This operation is a WebSocket. Connect with wss://, as RFC 6455 says.');
    }
    if (!KEY.test(headers['sec-websocket-key'] ?? '')) {
      throw new MalformedRequestError('The header Sec-WebSocket-Key must be 16 bytes in base64.');
    }
    const offered = headers['sec-websocket-protocol'];
    if (offered !== undefined && (!TOKEN_LIST.test(offered) || !protocolsIn(offered).includes(SUBPROTOCOL))) {
      throw new InvalidRequestError({ field: 'Sec-WebSocket-Protocol', reason: `must offer ${SUBPROTOCOL}` });
    }
    return upgrade;
  }

  /** As CORS for other requests: pages of other origins need CORS_ORIGINS. @throws PermissionError */
  private checkOrigin(request: IdentifiedRequest): void {
    const { origin } = request.headers;
    if (origin === undefined || this.env.corsOrigins.includes(origin)) return;
    if (URL.canParse(origin) && new URL(origin).host === request.host) return;
    throw new PermissionError(null, 'Pages of this origin may not use the service. Its operator can allow it.');
  }

  private async resume(principal: Principal, id: string, { audio }: RecordingSettings): Promise<LiveRecording> {
    const userId = principal.credential === 'access_token' ? principal.userId : null;
    const recording = await this.live.resume(principal.accountId, id, userId);
    const { format, sampleRate } = recording.audio;
    if (audio.format === format && (audio === OPENAI_AUDIO || audio.sampleRate === sampleRate)) return recording;
    const rate = sampleRate === null ? '' : ` with sample_rate=${sampleRate}`;
    throw new InvalidRequestError({ field: 'format', reason: `must be ${format}${rate}, as the recording began` });
  }
}

const protocolsIn = (list: string): string[] => list.split(',').map((name) => name.trim());

const asksForBeta = ({ headers }: IdentifiedRequest): boolean =>
  /\brealtime=v1\b/.test(String(headers['openai-beta'] ?? '')) ||
  protocolsIn(headers['sec-websocket-protocol'] ?? '').includes(BETA_PROTOCOL);

/** @throws InvalidRequestError */
function openAiSettings(query: RealtimeQuery): RecordingSettings {
  for (const field of ['format', 'sample_rate'] as const) {
    if (query[field] === undefined) continue;
    throw new InvalidRequestError({ field, reason: 'must not be given with intent or model: session.update says it' });
  }
  return { ...spoken(query), audio: OPENAI_AUDIO };
}

/** @throws InvalidRequestError */
function plainSettings(query: RealtimeQuery): RecordingSettings {
  const { format, sample_rate: sampleRate } = query;
  if (format === undefined) {
    throw new InvalidRequestError({
      field: 'format',
      reason: 'is required; clients of OpenAI send intent=transcription',
    });
  }
  const isPcm = format === 'pcm16';
  if (isPcm && sampleRate === undefined) {
    throw new InvalidRequestError({ field: 'sample_rate', reason: 'is required with format=pcm16' });
  }
  if (!isPcm && sampleRate !== undefined) {
    throw new InvalidRequestError({ field: 'sample_rate', reason: 'may be given only with format=pcm16' });
  }
  return { ...spoken(query), audio: { format, sampleRate: sampleRate ?? null } };
}

/** @throws InvalidRequestError */
function spoken(query: RealtimeQuery): Omit<RecordingSettings, 'audio'> {
  const { language, languages, vocabulary, title, speakers, diarize, custom_tags: customTags } = query;
  readSpeakers({ ...(speakers !== undefined && { speakers }), ...(diarize !== undefined && { diarize }) });
  return {
    language: language ?? null,
    languages: languages === undefined ? null : namesIn(languages),
    vocabulary: vocabulary === undefined ? null : termsIn(vocabulary),
    title: title ?? null,
    speakers: speakers ?? null,
    diarize: diarize ?? null,
    customTags: readCustomTags(customTags),
  };
}

function namesIn(text: string): string[] {
  const parsed = parseLanguages(text);
  if (parsed.ok) return parsed.names;
  throw new InvalidRequestError({ field: 'languages', reason: parsed.reason });
}

function termsIn(text: string): string[] {
  const parsed = parseVocabulary(text);
  if (parsed.ok) return parsed.terms;
  throw new InvalidRequestError({ field: 'vocabulary', reason: parsed.reason });
}
