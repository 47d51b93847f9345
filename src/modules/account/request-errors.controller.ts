import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { presentRequestErrors, RequestErrorsQuery, RequestErrorsView } from './request-errors.dto.js';
import { RequestErrorsService } from './request-errors.service.js';

@ApiTags('Account')
@Controller('v1/account/errors')
export class RequestErrorsController {
  constructor(private readonly errors: RequestErrorsService) {}

  /**
   * Get the last errors
   *
   * @remarks
   * Returns which requests of the account were refused in the last days, and why: grouped by operation, status, code and
   * field, the last seen first. A request is counted within about a second.
   */
  @Get()
  @ApiErrors(new InvalidRequestError({ field: 'days', reason: 'must be an integer from 1 to 30' }))
  @RequireScope('account:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: RequestErrorsQuery,
  ): Promise<RequestErrorsView> {
    return presentRequestErrors(query, await this.errors.list(accountId, query));
  }
}
