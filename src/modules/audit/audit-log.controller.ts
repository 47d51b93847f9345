import { Controller, Get, Headers, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import {
  AuditEntryView,
  AuditLogListQuery,
  AuditLogPage,
  presentAuditLines,
  presentAuditLogPage,
} from './audit-log.dto.js';
import { AuditLogService } from './audit-log.service.js';

const LINES = 'application/x-ndjson';

const FOUND = {
  headers: { Vary: { description: '`Accept`', required: true, schema: { type: 'string' as const } } },
  content: {
    'application/json': { schema: { $ref: getSchemaPath(AuditLogPage) } },
    [LINES]: { schema: { $ref: getSchemaPath(AuditEntryView) } },
  },
};

@ApiTags('Account')
@Controller('v1/account/audit-log')
export class AuditLogController {
  constructor(private readonly log: AuditLogService) {}

  /**
   * List the audit log
   *
   * @remarks
   * Returns who changed what in the account, newest first. An entry is written together with its change. As JSON lines it is
   * oldest first: ask again with the `number` of the last line as `after`.
   */
  @Get()
  @ApiExtraModels(AuditLogPage, AuditEntryView)
  @ApiOkResponse(FOUND)
  @RequireScope('account:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() { format, after, ...query }: AuditLogListQuery,
    @Headers('accept') accept: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AuditLogPage | string> {
    response.vary('Accept');
    const isLines = format === undefined ? accept?.includes(LINES) === true : format === 'jsonl';
    if (!isLines) {
      if (after !== undefined) throw new InvalidRequestError({ field: 'after', reason: 'needs format=jsonl' });
      return presentAuditLogPage(query, await this.log.list(accountId, query));
    }
    if (query.page !== 0) throw new InvalidRequestError({ field: 'page', reason: 'is not for JSON lines; use after' });
    response.setHeader('Content-Type', `${LINES}; charset=utf-8`);
    return presentAuditLines(await this.log.follow(accountId, query, after ?? 0));
  }
}
