import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { PageQuery } from '../../../platform/http/page.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { presentVersionPage, TranscriptionVersionPage } from './version.presenter.js';
import { VersionsService } from './versions.service.js';

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/transcriptions')
export class VersionsController {
  constructor(private readonly versions: VersionsService) {}

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
    return presentVersionPage(recordingId, query, await this.versions.list(accountId, recordingId, query));
  }
}
