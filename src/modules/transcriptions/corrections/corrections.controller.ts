import { Body, Controller, Delete, HttpCode, Param, Put, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, type ApiHeaderOptions, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import {
  InvalidRequestError,
  NotFoundError,
  PayloadTooLargeError,
  PreconditionFailedError,
} from '../../../platform/errors/errors.js';
import { ENTITY_TAGS, type EntityTags, parseEntityTags } from '../../../platform/http/header-values.js';
import { JsonBodyLimit } from '../../../platform/http/input/json-body.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import {
  NO_TRANSCRIPTION,
  presentTranscription,
  TranscriptionView,
  VERSION_HEADERS,
} from '../transcription.presenter.js';
import { entityTag, servedVersion } from '../transcription-version.js';
import { checkOneGiven, CorrectTranscriptionDto } from './corrections.dto.js';
import { CorrectionsService } from './corrections.service.js';

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
    const corrected = await this.corrections.correct(accountId, recordingId, correction, ifMatchOf(request));
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
    await this.corrections.remove(accountId, recordingId, ifMatchOf(request));
  }
}

/** @throws InvalidRequestError */
function ifMatchOf(request: Request): EntityTags | null {
  const header = request.get('if-match');
  const tags = header === undefined ? null : parseEntityTags(header);
  if (tags !== null || header === undefined) return tags;
  const reason = 'must be * or the value of an ETag header, with its quotation marks';
  throw new InvalidRequestError({ field: 'If-Match', reason });
}
