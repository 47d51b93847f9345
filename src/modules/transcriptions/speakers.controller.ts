import { Body, Controller, Get, Param, Put, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError, PreconditionFailedError } from '../../platform/errors/errors.js';
import { ENTITY_TAGS, isUnchanged, readIfMatch } from '../../platform/http/header-values.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { NameSpeakersDto } from './speakers.dto.js';
import { presentSpeakers, SpeakersView } from './speakers.presenter.js';
import { SpeakersService } from './speakers.service.js';
import { NO_TRANSCRIPTION } from './transcription.presenter.js';

const ETAG = '"019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f.1.speakers"';
const HEADERS = {
  ETag: {
    description: 'Identifies this list. Send it as If-Match to change the names.',
    required: true,
    schema: { type: 'string' as const, example: ETAG },
  },
};

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/speakers')
export class SpeakersController {
  constructor(private readonly speakers: SpeakersService) {}

  /**
   * List the speakers of a recording
   *
   * @remarks
   * Returns who speaks in the transcription that is served, and how much. Without a transcription the code of the 404 says
   * why.
   * @param recordingId Identifier of the recording.
   */
  @Get()
  @ApiHeader({
    name: 'If-None-Match',
    required: false,
    description: 'The ETag of an earlier answer: 304 if the list is the same.',
    schema: { type: 'string' },
  })
  @ApiOkResponse({ type: SpeakersView, headers: HEADERS })
  @ApiResponse({ status: 304, headers: HEADERS })
  @ApiErrors(...NO_TRANSCRIPTION)
  @RequireScope('recordings:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() _query: NoQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SpeakersView | undefined> {
    const speakers = await this.speakers.list(accountId, recordingId);
    response.setHeader('ETag', speakers.etag);
    if (!isUnchanged(request.get('if-none-match'), speakers.etag)) return presentSpeakers(speakers);
    response.status(304);
    return undefined;
  }

  /**
   * Name the speakers of a recording
   *
   * @remarks
   * Replaces all names. Texts, subtitles and searches have the names from now on. Speakers with the same name are shown as
   * one person; another request tells them apart again.
   * @param recordingId Identifier of the recording.
   */
  @Put()
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'The ETag of the list that you have read. If there is a later one: 412, and no change.',
    schema: { type: 'string', pattern: ENTITY_TAGS, example: ETAG },
  })
  @ApiOkResponse({ type: SpeakersView, headers: HEADERS })
  @ApiErrors(
    ...NO_TRANSCRIPTION,
    new InvalidRequestError({
      field: 'speakers',
      reason: 'names C, which is no speaker of this recording: use A or B',
    }),
    new PreconditionFailedError('The list of speakers', ETAG),
  )
  @RequireScope('recordings:write')
  async name(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() _query: NoQuery,
    @Body() { speakers: given }: NameSpeakersDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SpeakersView> {
    const speakers = await this.speakers.name(accountId, recordingId, given, readIfMatch(request.get('if-match')));
    response.setHeader('ETag', speakers.etag);
    return presentSpeakers(speakers);
  }
}
