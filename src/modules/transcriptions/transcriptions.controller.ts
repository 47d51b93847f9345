import { Body, Controller, Delete, Get, HttpCode, Param, Put, Query, Req, Res } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  type ApiHeaderOptions,
  ApiOkResponse,
  ApiResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AllowEndUser, RequireScope } from '../../access/access.decorators.js';
import { CurrentPrincipal } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { NotFoundError, PayloadTooLargeError, PreconditionFailedError } from '../../platform/errors/errors.js';
import { ENTITY_TAGS, isUnchanged, readIfMatch } from '../../platform/http/header-values.js';
import { JsonBodyLimit } from '../../platform/http/input/json-body.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { PageQuery } from '../../platform/http/page.js';
import { checkOneGiven, CorrectTranscriptionDto, GetTranscriptionQuery } from './transcriptions.dto.js';
import { CorrectionsService } from './corrections.service.js';
import { TranscriptExportsService } from './exports/transcript-exports.service.js';
import { acceptedFormat, CONTENT_TYPES } from './exports/transcription-format.js';
import { entityTag, servedVersion } from './transcription-versions.js';
import {
  IncludedTranscriptionView,
  NO_TRANSCRIPTION,
  PartialTextView,
  presentTranscription,
  presentVersionPage,
  TranscriptionVersionPage,
  TranscriptionView,
  VERSION_HEADERS,
} from './transcription.presenter.js';
import { TranscriptionsService } from './transcriptions.service.js';

const IF_NONE_MATCH: ApiHeaderOptions = {
  name: 'If-None-Match',
  required: false,
  description: 'The ETag of an earlier answer: 304 if it is still what would be sent.',
  schema: { type: 'string' },
};
const text = (example: string): object => ({ schema: { type: 'string' }, example });
const CUE = '00:00:00.460 --> 00:00:01.890\ngo forward ten meters\n';
const FOUND = {
  headers: {
    ...VERSION_HEADERS,
    Vary: { description: '`Accept`', required: true, schema: { type: 'string' as const } },
  },
  content: {
    'application/json': { schema: { $ref: getSchemaPath(TranscriptionView) } },
    'text/plain': text('go forward ten meters'),
    'application/x-subrip': text(`1\n${CUE.replaceAll('.', ',')}`),
    'text/vtt': text(`WEBVTT\n\n${CUE}`),
  },
};

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/transcription')
export class TranscriptionsController {
  constructor(
    private readonly transcriptions: TranscriptionsService,
    private readonly exports: TranscriptExportsService,
  ) {}

  /**
   * Get the transcription of a recording
   *
   * @remarks
   * Returns the transcription once the recording has the status `transcribed`. Until then, and when the recording
   * failed, the code of the 404 says which it is. `format` or `Accept` asks for the text alone or for subtitles.
   * @param recordingId Identifier of the recording.
   */
  @Get()
  @ApiExtraModels(TranscriptionView, IncludedTranscriptionView, PartialTextView)
  @ApiHeader(IF_NONE_MATCH)
  @ApiOkResponse(FOUND)
  @ApiResponse({ status: 304, headers: VERSION_HEADERS })
  @ApiErrors(...NO_TRANSCRIPTION)
  @AllowEndUser('read', 'recordings:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() query: GetTranscriptionQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TranscriptionView | string | undefined> {
    const format = query.format ?? acceptedFormat(request.get('accept'));
    const { recording, transcription } = await this.transcriptions.find(accountId, recordingId);
    const served = servedVersion(transcription, query.version ?? 'current');
    const tag = entityTag(served, format, recording.speakerNames);
    response.vary('Accept');
    response.setHeader('ETag', tag);
    response.setHeader('Transcription-Version', served.version);
    if (isUnchanged(request.get('if-none-match'), tag)) {
      response.status(304);
      return undefined;
    }
    if (format === 'json') return presentTranscription(served);
    response.setHeader('Content-Type', CONTENT_TYPES[format]);
    const { text: servedText, words } = served;
    const { durationMs, speakerNames: names } = recording;
    const source = { text: servedText, words, durationSeconds: durationMs / 1000, names };
    return await this.exports.render(accountId, { format, recordingId, ...source });
  }
}

/** 2 MB: the words of the longest recordings, with their times. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

const IF_MATCH: ApiHeaderOptions = {
  name: 'If-Match',
  required: false,
  description:
    'The ETag of the version that you have read, in any form. If there is a later version: 412, and no change.',
  schema: { type: 'string', pattern: ENTITY_TAGS, example: '"019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f.1"' },
};
const CHANGED = new PreconditionFailedError('The transcription', '"019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f.2"');

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/transcription')
export class CorrectionsController {
  constructor(private readonly corrections: CorrectionsService) {}

  /**
   * Correct the transcription of a recording
   *
   * @remarks
   * Replaces the text, or the words with their times. The corrected text is returned, searched and exported from now on;
   * the engine's stays available as `version=original`. Give either `text` or `words`.
   * @param recordingId Identifier of the recording.
   */
  @Put()
  @JsonBodyLimit(MAX_BODY_BYTES)
  @ApiHeader(IF_MATCH)
  @ApiOkResponse({
    type: TranscriptionView,
    headers: VERSION_HEADERS,
    example: { text: 'Go forward ten metres.', updated_at: '2026-11-21T10:20:00' },
  })
  @ApiErrors(...NO_TRANSCRIPTION, CHANGED, new PayloadTooLargeError('The body', MAX_BODY_BYTES))
  @RequireScope('recordings:write')
  async correct(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() _query: NoQuery,
    @Body() correction: CorrectTranscriptionDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TranscriptionView> {
    checkOneGiven(correction);
    const corrected = await this.corrections.correct(
      accountId,
      recordingId,
      correction,
      readIfMatch(request.get('if-match')),
    );
    const served = servedVersion(corrected, 'current');
    response.setHeader('ETag', entityTag(served, 'json'));
    response.setHeader('Transcription-Version', served.version);
    return presentTranscription(served);
  }

  /**
   * Remove the correction of a transcription
   *
   * @remarks
   * Restores the text and the words of the engine.
   * @param recordingId Identifier of the recording.
   */
  @Delete()
  @ApiHeader(IF_MATCH)
  @ApiErrors(...NO_TRANSCRIPTION, new NotFoundError('correction'), CHANGED)
  @HttpCode(204)
  @RequireScope('recordings:write')
  async remove(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() _query: NoQuery,
    @Req() request: Request,
  ): Promise<void> {
    await this.corrections.remove(accountId, recordingId, readIfMatch(request.get('if-match')));
  }
}

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/transcriptions')
export class VersionsController {
  constructor(private readonly transcriptions: TranscriptionsService) {}

  /**
   * List the versions of a transcription
   *
   * @remarks
   * Returns the result of each run of an engine, the present version first. The last 5 are kept. Empty until the recording is
   * transcribed.
   * @param recordingId Identifier of the recording.
   */
  @Get()
  @ApiErrors(new NotFoundError('recording'))
  @RequireScope('recordings:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() query: PageQuery,
  ): Promise<TranscriptionVersionPage> {
    return presentVersionPage(recordingId, query, await this.transcriptions.versions(accountId, recordingId, query));
  }
}
