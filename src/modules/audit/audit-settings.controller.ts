import { Body, Controller, Get, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Actor, CurrentActor, CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import {
  AuditLogSettingsDto,
  AuditLogSettingsView,
  MAX_AUDIT_DAYS,
  MIN_AUDIT_DAYS,
  presentAuditSettings,
} from './audit-settings.dto.js';
import { AuditSettingsService } from './audit-settings.service.js';

@ApiTags('Account')
@Controller('v1/account/audit-log/settings')
export class AuditSettingsController {
  constructor(
    private readonly settings: AuditSettingsService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Get the settings of the audit log
   *
   * @remarks
   * Returns whether requests that only read leave entries, and how long entries are kept.
   */
  @Get()
  @RequireScope('account:read')
  async get(@CurrentPrincipal() { accountId }: Principal, @Query() _query: NoQuery): Promise<AuditLogSettingsView> {
    return presentAuditSettings(await this.settings.get(accountId));
  }

  /**
   * Set the settings of the audit log
   *
   * @remarks
   * Replaces both. What is read from the next request on leaves entries, or no more. Entries that are older than `retain_days`
   * are removed within a day.
   */
  @Put()
  @ApiErrors(
    new InvalidRequestError({
      field: 'retain_days',
      reason: `must be an integer from ${MIN_AUDIT_DAYS} to ${MAX_AUDIT_DAYS}, or null`,
    }),
  )
  @RequireScope('account:write')
  async set(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Body() body: AuditLogSettingsDto,
    @Query() _query: NoQuery,
  ): Promise<AuditLogSettingsView> {
    const settings = { recordsReads: body.records_reads, retainDays: body.retain_days };
    await this.settings.set(accountId, settings);
    this.securityLog.record('audit log settings changed', { ...actor, ...body });
    return presentAuditSettings(settings);
  }
}
