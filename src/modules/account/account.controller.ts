import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../access/current-principal.decorator.js';
import type { Principal } from '../../access/principal.js';
import { RequireScope } from '../../access/access.decorators.js';
import { NoQuery } from '../../platform/http/input/no-query.js';
import { QuotasService } from '../recordings/quotas/quotas.service.js';
import { AccountView, presentAccount } from './account.presenter.js';
import { AccountService } from './account.service.js';
import { presentQuotas, QuotasView } from './quotas.presenter.js';

@ApiTags('Account')
@Controller('v1/account')
export class AccountController {
  constructor(
    private readonly accounts: AccountService,
    private readonly quotaUsage: QuotasService,
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
}
