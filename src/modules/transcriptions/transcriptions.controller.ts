import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../access/current-principal.decorator.js';
import type { Principal } from '../../access/principal.js';
import { RequireScope } from '../../access/access.decorators.js';
import { presentTranscription, TranscriptionView } from './transcription.presenter.js';
import { TranscriptionsService } from './transcriptions.service.js';

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/transcription')
export class TranscriptionsController {
  constructor(private readonly transcriptions: TranscriptionsService) {}

  /** Get the transcription of a recording. */
  @Get()
  @RequireScope('recordings:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
  ): Promise<TranscriptionView> {
    return presentTranscription(await this.transcriptions.get(accountId, recordingId));
  }
}
