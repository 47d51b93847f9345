import { Controller, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { presentTestCall, TestCallView } from './deliveries.dto.js';
import { TestCallsService } from './test-calls.service.js';

@ApiTags('Webhooks')
@Controller('v1/webhooks/:webhook_id/test')
export class TestCallsController {
  constructor(private readonly tests: TestCallsService) {}

  /**
   * Test a webhook
   *
   * @remarks
   * Sends a signed `webhook.test` event to this webhook at once, also if it is disabled, and answers with the outcome:
   * 200 whatever the receiver answered. It is not retried, is in no list, and does not change the webhook. An account has
   * one test at a time; another is a 429. The response takes up to 20 seconds.
   * @param id Identifier of the webhook.
   */
  @Post()
  @HttpCode(200)
  @ApiErrors(new NotFoundError('webhook'))
  @RequireScope('webhooks:write')
  async send(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('webhook_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<TestCallView> {
    return presentTestCall(id, await this.tests.send(accountId, id));
  }
}
