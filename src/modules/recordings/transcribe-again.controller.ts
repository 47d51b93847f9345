import { Body, Controller, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../access/access.decorators.js';
import { CurrentPrincipal } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { NotFoundError, QuotaExceededError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { presentSingleRecording, SingleRecordingView } from './recording.presenter.js';
import { alreadyProcessing, audioDeleted } from './recordings.service.js';
import { TranscribeAgainDto } from './recordings.dto.js';
import { TranscribeAgainService, unknownEngine } from './transcribe-again.service.js';

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/transcribe')
export class TranscribeAgainController {
  constructor(private readonly transcribeAgain: TranscribeAgainService) {}

  /**
   * Transcribe a recording again
   *
   * @remarks
   * The present text of a transcribed recording is returned, searched and exported until the new one is there. A
   * correction is returned also after that. A failed recording gets the status `processing`, as with a retry. The
   * outcome is a new event.
   * @param id Identifier of the recording.
   */
  @Post()
  @ApiAcceptedResponse({ type: SingleRecordingView })
  @ApiErrors(
    unknownEngine(['openai', 'pocketsphinx']),
    new NotFoundError('recording'),
    alreadyProcessing(),
    audioDeleted(),
    new QuotaExceededError('queued_audio_seconds', 7200, 7155.2, null),
  )
  @HttpCode(202)
  @RequireScope('recordings:write')
  async request(
    @CurrentPrincipal() { accountId, quotas }: Principal,
    @Param('recording_id') id: string,
    @Body() dto: TranscribeAgainDto,
    @Query() _query: NoQuery,
  ): Promise<SingleRecordingView> {
    return presentSingleRecording(await this.transcribeAgain.request(accountId, id, dto, quotas));
  }
}
