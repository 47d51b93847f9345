import { Body, Controller, Get, Put, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type Actor, CurrentActor, CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { MAX_SPEAKERS } from '../../platform/speakers.js';
import { MAX_TERMS } from '../../platform/vocabulary.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { QuotasService } from '../recordings/quotas.service.js';
import { UsageService } from '../recordings/usage-counters/usage.service.js';
import { MAX_RETAIN_DAYS, RetentionService } from '../recordings/retention/retention.service.js';
import {
  AccountSpeakersDto,
  AccountSpeakersView,
  AccountView,
  deletionPositionOf,
  policyOf,
  presentQuotas,
  presentRetention,
  presentSpeakers,
  presentUpcoming,
  presentUsageReport,
  QuotasView,
  reportOptionsOf,
  RetentionDto,
  RetentionView,
  UpcomingDeletionsQuery,
  UpcomingDeletionsView,
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
    private readonly retention: RetentionService,
    private readonly securityLog: SecurityLogService,
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

  /**
   * Get the speakers to tell apart
   *
   * @remarks
   * Returns how many speakers are told apart in new recordings of the account.
   */
  @Get('speakers')
  @RequireScope('account:read')
  async getSpeakers(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() _query: NoQuery,
  ): Promise<AccountSpeakersView> {
    const { speakers } = await this.accounts.get(accountId);
    return presentSpeakers(speakers);
  }

  /**
   * Set the speakers to tell apart
   *
   * @remarks
   * Sets how many speakers are told apart in recordings that are uploaded from now on. An upload may say something else for
   * itself.
   */
  @Put('speakers')
  @ApiErrors(
    new InvalidRequestError({
      field: 'speakers',
      reason: `must be auto or an integer from 1 to ${MAX_SPEAKERS}, or null`,
    }),
  )
  @RequireScope('account:write')
  async setSpeakers(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() { speakers }: AccountSpeakersDto,
    @Query() _query: NoQuery,
  ): Promise<AccountSpeakersView> {
    return presentSpeakers(await this.accounts.setSpeakers(accountId, speakers));
  }

  /**
   * Get the retention
   *
   * @remarks
   * Returns how long new recordings of the account are kept.
   */
  @Get('retention')
  @RequireScope('account:read')
  async getRetention(@CurrentPrincipal() { accountId }: Principal, @Query() _query: NoQuery): Promise<RetentionView> {
    return presentRetention(await this.accounts.get(accountId));
  }

  /**
   * Set the retention
   *
   * @remarks
   * Replaces how long new recordings of the account are kept. An upload may say something else for itself. Recordings
   * that are there already keep what was decided at their upload.
   */
  @Put('retention')
  @ApiErrors(
    new InvalidRequestError({
      field: 'retain_audio_days',
      reason: `must be an integer from 1 to ${MAX_RETAIN_DAYS}, or null`,
    }),
  )
  @RequireScope('account:write')
  async setRetention(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Body() body: RetentionDto,
    @Query() _query: NoQuery,
  ): Promise<RetentionView> {
    const policy = policyOf(body);
    await this.accounts.setRetention(accountId, policy);
    this.securityLog.record('retention changed', { ...actor, ...body });
    return presentRetention(policy);
  }

  /**
   * List upcoming deletions
   *
   * @remarks
   * Returns what is deleted next of each recording by its retention, in the order of the times: the audio alone, or the
   * whole recording.
   */
  @Get('retention/upcoming')
  @RequireScope('account:read')
  async upcoming(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: UpcomingDeletionsQuery,
  ): Promise<UpcomingDeletionsView> {
    return presentUpcoming(query, await this.retention.upcoming(accountId, deletionPositionOf(query), query.limit + 1));
  }
}
