import { Body, Controller, Delete, HttpCode, Param, Put, Query } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { type Actor, CurrentActor, CurrentPrincipal, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { IsText } from '../../../platform/http/input/rules.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { resourceTime } from '../../../platform/http/timestamps.js';
import { SecurityLogService } from '../../../platform/observability/security-log.service.js';
import { RetentionService } from './retention.service.js';

export class HoldDto {
  /** Why the recording is kept, for those who ask for its deletion. */
  @IsText(1, 500)
  @ApiProperty({ example: 'Complaint C-1042' })
  reason: string;
}

export class HoldView {
  @ApiProperty({ example: '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60', format: 'uuid' })
  recording_id: string;

  @ApiProperty({ example: 'Complaint C-1042' })
  reason: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  held_at: string;

  @ApiProperty({ example: '/v1/recordings/019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60' })
  recording_uri: string;
}

const NO_RECORDING = new NotFoundError('recording');

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/hold')
export class HoldsController {
  constructor(
    private readonly retention: RetentionService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Put a recording on hold
   *
   * @remarks
   * While a recording is on hold, nothing of it is deleted: neither by its retention, nor by a request to delete it, nor
   * by the erasure of its end user. A second hold replaces the reason.
   * @param id Identifier of the recording.
   */
  @Put()
  @ApiErrors(NO_RECORDING)
  @RequireScope('recordings:write')
  async hold(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('recording_id') id: string,
    @Body() { reason }: HoldDto,
    @Query() _query: NoQuery,
  ): Promise<HoldView> {
    const { heldAt, reason: stored } = await this.retention.hold(accountId, id, reason);
    this.securityLog.record('recording put on hold', { ...actor, recording_id: id });
    return { recording_id: id, reason: stored, held_at: resourceTime(heldAt), recording_uri: `/v1/recordings/${id}` };
  }

  /**
   * Release the hold of a recording
   *
   * @remarks
   * What is due by its retention meanwhile is deleted soon after. A recording that is not on hold stays as it is.
   * @param id Identifier of the recording.
   */
  @Delete()
  @HttpCode(204)
  @ApiErrors(NO_RECORDING)
  @RequireScope('recordings:write')
  async release(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('recording_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.retention.release(accountId, id);
    this.securityLog.record('recording hold released', { ...actor, recording_id: id });
  }
}
