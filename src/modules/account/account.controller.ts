import { Body, Controller, Get, Put, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { MAX_TERMS } from '../../platform/vocabulary.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { QuotasService } from '../recordings/quotas.service.js';
import { UsageService } from '../recordings/usage-counters/usage.service.js';
import {
  AccountView,
  presentQuotas,
  presentUsageReport,
  QuotasView,
  reportOptionsOf,
  USAGE_EXAMPLE,
  UsageQuery,
  UsageReportView,
  VocabularyDto,
  VocabularyView,
} from './account.dto.js';
import { AccountService } from './account.service.js';
import { presentAccount } from './account.presenter.js';

@ApiTags('Account')
@Controller('v1/account')
export class AccountController {
  constructor(
    private readonly accounts: AccountService,
    private readonly quotaUsage: QuotasService,
    private readonly usages: UsageService,
  ) {}

  /**
   * Get the account
   *
   * @remarks
   * Returns the account that the credentials belong to, with its usage of the current and the previous month (UTC).
   */
  @Get()
  @RequireScope('account:read')
  async get(@CurrentPrincipal() { accountId }: Principal, @Query() _query: NoQuery): Promise<AccountView> {
    return presentAccount(await this.accounts.get(accountId), await this.accounts.usage(accountId));
  }

  /**
   * Get the quotas
   *
   * @remarks
   * Returns what the account may use, and what it has used. An upload that does not fit is refused with 403.
   */
  @Get('quotas')
  @RequireScope('account:read')
  async quotas(@CurrentPrincipal() { accountId, quotas }: Principal, @Query() _query: NoQuery): Promise<QuotasView> {
    return presentQuotas(quotas, await this.quotaUsage.overview(accountId));
  }

  /**
   * Get the usage over time
   *
   * @remarks
   * Returns the usage of the last days, by day, by API key or by end user. Recordings count on the day of their creation
   * (UTC). Days are in order, all of them; keys and end users in the order of their ids, a page at a time.
   */
  @Get('usage')
  @ApiOkResponse({ type: UsageReportView, example: USAGE_EXAMPLE })
  @ApiErrors(new InvalidRequestError({ field: 'by', reason: 'must be day, key or user' }))
  @RequireScope('account:read')
  async usage(@CurrentPrincipal() { accountId }: Principal, @Query() query: UsageQuery): Promise<UsageReportView> {
    const options = reportOptionsOf(query);
    return presentUsageReport(query, options, await this.usages.report(accountId, options, new Date()));
  }

  /**
   * Get the vocabulary
   *
   * @remarks
   * Returns the names and words that the engine is to expect in all recordings of the account.
   */
  @Get('vocabulary')
  @RequireScope('account:read')
  async vocabulary(@CurrentPrincipal() { accountId }: Principal, @Query() _query: NoQuery): Promise<VocabularyView> {
    const { vocabulary } = await this.accounts.get(accountId);
    return { vocabulary };
  }

  /**
   * Set the vocabulary
   *
   * @remarks
   * Replaces the names and words that the engine is to expect in all recordings of the account. Those that an upload
   * names come first. At most 15 terms reach the engine.
   */
  @Put('vocabulary')
  @ApiErrors(
    new InvalidRequestError({ field: 'vocabulary', reason: `must have at most ${MAX_TERMS} terms; this has 101` }),
  )
  @RequireScope('account:write')
  async setVocabulary(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() body: VocabularyDto,
    @Query() _query: NoQuery,
  ): Promise<VocabularyView> {
    return { vocabulary: await this.accounts.setVocabulary(accountId, body.vocabulary) };
  }
}
