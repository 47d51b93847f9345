import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../access/current-principal.decorator.js';
import type { Principal } from '../../access/principal.js';
import { RequireScope } from '../../access/access.decorators.js';
import { NotFoundError, TranscriptionFailedError, TranscriptionNotReadyError } from '../../platform/errors/errors.js';
import { ApiErrors } from '../../platform/http/output/api-errors.decorator.js';
import { NoQuery } from '../../platform/http/input/no-query.js';
import { presentTranscription, TranscriptionView } from './transcription.presenter.js';
import { TranscriptionsService } from './transcriptions.service.js';

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/transcription')
export class TranscriptionsController {
  constructor(private readonly transcriptions: TranscriptionsService) {}

  /**
   * Get the transcription of a recording
   *
   * @remarks
   * Returns the transcription once the recording has the status `transcribed`. Until then, and when the recording
   * failed, the code of the 404 says which it is.
   * @param recordingId Identifier of the recording.
   */
  @Get()
  @ApiErrors(
    new NotFoundError('recording'),
    new TranscriptionNotReadyError(),
    new TranscriptionFailedError('The file contains no audio that can be decoded'),
  )
  @RequireScope('recordings:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() _query: NoQuery,
  ): Promise<TranscriptionView> {
    return presentTranscription(await this.transcriptions.get(accountId, recordingId));
  }
}
