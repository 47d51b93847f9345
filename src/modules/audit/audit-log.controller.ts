import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { AuditLogPage, AuditLogQuery, presentAuditLogPage } from './audit-log.dto.js';
import { AuditLogService } from './audit-log.service.js';

@ApiTags('Account')
@Controller('v1/account/audit-log')
export class AuditLogController {
  constructor(private readonly log: AuditLogService) {}

  /**
   * List the audit log
   *
   * @remarks
   * Returns who changed what in the account, newest first. An entry is written together with its change.
   */
  @Get()
  @RequireScope('account:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: AuditLogQuery): Promise<AuditLogPage> {
    return presentAuditLogPage(query, await this.log.list(accountId, query));
  }
}
