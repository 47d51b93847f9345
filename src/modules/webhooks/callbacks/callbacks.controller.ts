import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { resourceTime } from '../../../platform/http/timestamps.js';
import { deliveriesUri } from '../deliveries/deliveries.dto.js';
import { type Webhook, WEBHOOK_STATUSES, type WebhookStatus } from '../webhook.entity.js';
import { CallbacksService } from './callbacks.service.js';

const EXAMPLE_ID = '019aa5c2-3b4c-7d5e-9f60-718293a4b5c6';
const EXAMPLE_RECORDING = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

export class CallbackView {
  /** Stands for the webhook in the paths of its deliveries. */
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: EXAMPLE_RECORDING, format: 'uuid' })
  recording_id: string;

  @ApiProperty({ example: 'https://hooks.example.com/voice-notes' })
  url: string;

  @ApiProperty({ enum: WEBHOOK_STATUSES })
  status: WebhookStatus;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  updated_at: string;

  /** Path of the delivery log. Its deliveries can be redelivered as those of a webhook. */
  @ApiProperty({ example: `/v1/webhooks/${EXAMPLE_ID}/deliveries` })
  deliveries_uri: string;

  @ApiProperty({ example: `/v1/recordings/${EXAMPLE_RECORDING}/callback` })
  uri: string;
}

function presentCallback(recordingId: string, callback: Webhook): CallbackView {
  return {
    id: callback.id,
    recording_id: recordingId,
    url: callback.url,
    status: callback.status,
    created_at: resourceTime(callback.createdAt),
    updated_at: resourceTime(callback.updatedAt),
    deliveries_uri: deliveriesUri(callback.id),
    uri: `/v1/recordings/${recordingId}/callback`,
  };
}

@ApiTags('Webhooks')
@Controller('v1/recordings')
export class CallbacksController {
  constructor(private readonly callbacks: CallbacksService) {}

  /**
   * Get the callback of a recording
   *
   * @remarks
   * Returns the webhook that the upload named with `callback_url` for this recording alone. It is in no list of webhooks;
   * its deliveries are listed and redelivered as those of any other.
   * @param recordingId Identifier of the recording.
   */
  @Get(':recording_id/callback')
  @ApiErrors(new NotFoundError('callback'))
  @RequireScope('webhooks:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() _query: NoQuery,
  ): Promise<CallbackView> {
    return presentCallback(recordingId, await this.callbacks.get(accountId, recordingId));
  }
}
