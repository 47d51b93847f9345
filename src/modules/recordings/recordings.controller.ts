import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiCreatedResponse, ApiHeader, type ApiHeaderOptions, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal } from '../../access/current-principal.decorator.js';
import type { Principal } from '../../access/principal.js';
import { AllowAccessToken, RequireScope } from '../../access/access.decorators.js';
import { AUDIO_FORMAT_LIST, MAX_FILE_BYTES } from '../../platform/audio/audio-formats.js';
import { Spool } from '../../platform/storage/spool.js';
import { readUploadForm } from './upload/upload-form.js';
import { UploadService, type UploadContext } from './upload/upload.service.js';
import {
  CreatedRecordingView,
  presentCreatedRecording,
  presentRecordingPage,
  presentSingleRecording,
  RecordingPage,
  recordingUri,
  SingleRecordingView,
} from './recording.presenter.js';
import { checkDays, ListRecordingsQuery } from './recordings.dto.js';
import { RecordingsService } from './recordings.service.js';

const UPLOAD_FORM = {
  schema: {
    type: 'object',
    required: ['file'],
    properties: {
      file: {
        type: 'string',
        format: 'binary',
        description: `Audio in ${AUDIO_FORMAT_LIST}, at most ${MAX_FILE_BYTES} bytes.`,
      },
      custom_tags: { type: 'string', description: 'A JSON object of strings.', example: '{"ticket":"T-1042"}' },
      language: { type: 'string', description: 'The English name of the language spoken.', example: 'english' },
    },
  },
};

const IDEMPOTENCY_KEY: ApiHeaderOptions = {
  name: 'Idempotency-Key',
  required: false,
  description: 'Makes repeating the upload safe for 24 h.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: String.raw`^[\x20-\x7e]*$` },
};

const UPLOADED = {
  type: CreatedRecordingView,
  headers: {
    Location: { description: "The recording's path.", required: true, schema: { type: 'string' as const } },
    'Idempotent-Replayed': {
      description: '`true` when this upload came before, with the same Idempotency-Key.',
      schema: { type: 'string' as const, enum: ['true'] },
    },
  },
};

/** A longer User-Agent header is cut off. */
const MAX_USER_AGENT = 512;

@ApiTags('Recordings')
@Controller('v1/recordings')
export class RecordingsController {
  constructor(
    private readonly recordings: RecordingsService,
    private readonly uploads: UploadService,
    private readonly spool: Spool,
  ) {}

  /** Upload a voice note. It is answered once the audio is safely stored; the transcription follows. */
  @Post()
  @AllowAccessToken('recordings:write')
  @ApiConsumes('multipart/form-data')
  @ApiBody(UPLOAD_FORM)
  @ApiHeader(IDEMPOTENCY_KEY)
  @ApiCreatedResponse(UPLOADED)
  async upload(
    @CurrentPrincipal() principal: Principal,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CreatedRecordingView> {
    const context = uploadContextOf(request, principal);
    const form = await readUploadForm(request, this.spool, context.idempotencyKey !== null);
    try {
      const { recording, replayed } = await this.uploads.accept(principal.accountId, form, context);
      if (replayed) response.setHeader('Idempotent-Replayed', 'true');
      response.setHeader('Location', recordingUri(recording.id));
      return presentCreatedRecording(recording);
    } finally {
      await form.file.discard();
    }
  }

  /** List the recordings, newest first. */
  @Get()
  @RequireScope('recordings:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListRecordingsQuery,
  ): Promise<RecordingPage> {
    checkDays(query);
    return presentRecordingPage(query, await this.recordings.list(accountId, query));
  }

  /** Get a recording. */
  @Get(':recording_id')
  @RequireScope('recordings:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') id: string,
  ): Promise<SingleRecordingView> {
    return presentSingleRecording(await this.recordings.get(accountId, id));
  }

  /** Transcribe a failed recording once more. */
  @Post(':recording_id/retry')
  @HttpCode(202)
  @RequireScope('recordings:write')
  async retry(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') id: string,
  ): Promise<SingleRecordingView> {
    return presentSingleRecording(await this.recordings.retry(accountId, id));
  }

  /** Delete a recording, its transcription and its audio. */
  @Delete(':recording_id')
  @HttpCode(204)
  @RequireScope('recordings:write')
  async delete(@CurrentPrincipal() { accountId }: Principal, @Param('recording_id') id: string): Promise<void> {
    await this.recordings.delete(accountId, id);
  }
}

function uploadContextOf(request: Request, principal: Principal): UploadContext {
  const userAgent = request.get('user-agent')?.slice(0, MAX_USER_AGENT).toWellFormed();
  return {
    userId: principal.identity,
    clientIp: request.ip ?? null,
    userAgent: userAgent ?? null,
    source: principal.credential === 'access_token' ? 'access_token' : 'api',
    idempotencyKey: request.get('idempotency-key') ?? null,
  };
}
