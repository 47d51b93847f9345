import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
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
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { isUnchanged } from '../../platform/http/header-values.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { TranscriptExportsService } from './exports/transcript-exports.service.js';
import { acceptedFormat, CONTENT_TYPES } from './exports/transcription-format.js';
import {
  IncludedTranscriptionView,
  NO_TRANSCRIPTION,
  presentTranscription,
  TranscriptionView,
  VERSION_HEADERS,
} from './transcription.presenter.js';
import { entityTag, servedVersion } from './transcription-version.js';
import { GetTranscriptionQuery } from './transcriptions.dto.js';
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
  @ApiExtraModels(TranscriptionView, IncludedTranscriptionView)
  @ApiHeader(IF_NONE_MATCH)
  @ApiOkResponse(FOUND)
  @ApiResponse({ status: 304, headers: VERSION_HEADERS })
  @ApiErrors(...NO_TRANSCRIPTION)
  @RequireScope('recordings:read')
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
    const tag = entityTag(served, format);
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
    const durationSeconds = recording.durationMs / 1000;
    return await this.exports.render(accountId, { format, text: servedText, words, durationSeconds });
  }
}
