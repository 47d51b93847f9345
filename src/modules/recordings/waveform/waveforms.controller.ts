import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, type ApiHeaderOptions, ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { isUnchanged } from '../../../platform/http/header-values.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { presentWaveform, WaveformView } from './waveform.presenter.js';
import { waveformNotAvailable, waveformNotReady, WaveformsService } from './waveforms.service.js';

const IF_NONE_MATCH: ApiHeaderOptions = {
  name: 'If-None-Match',
  required: false,
  description: 'The ETag of an earlier answer: 304 if the waveform is the same.',
  schema: { type: 'string' },
};
const HEADERS = {
  ETag: {
    description: 'Strong validator of the waveform, which never changes.',
    required: true,
    schema: { type: 'string' as const, example: '"019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60.waveform"' },
  },
};

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/waveform')
export class WaveformsController {
  constructor(private readonly waveforms: WaveformsService) {}

  /**
   * Get the waveform
   *
   * @remarks
   * Returns how loud the recording is over time, for a player to draw: at most 1,000 points, 100 for each second of a
   * short one. It is made when the recording is transcribed. Until then, and where there is none, the code of the 404
   * says which it is.
   * @param id Identifier of the recording.
   */
  @Get()
  @ApiHeader(IF_NONE_MATCH)
  @ApiOkResponse({ type: WaveformView, headers: HEADERS })
  @ApiResponse({ status: 304, headers: HEADERS })
  @ApiErrors(new NotFoundError('recording'), waveformNotReady(), waveformNotAvailable())
  @RequireScope('recordings:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') id: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<WaveformView | undefined> {
    const waveform = await this.waveforms.get(accountId, id);
    const tag = `"${waveform.recordingId}.waveform"`;
    response.setHeader('ETag', tag);
    if (!isUnchanged(request.get('if-none-match'), tag)) return presentWaveform(waveform);
    response.status(304);
    return undefined;
  }
}
