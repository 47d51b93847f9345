import { Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Actor, CurrentActor, CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { NotFoundError, PreconditionFailedError, RangeNotSatisfiableError } from '../../platform/errors/errors.js';
import { answerWithFile } from '../../platform/http/file-answer.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { AccountExportView, presentAccountExport } from './account-exports.dto.js';
import { AccountExportsService, IN_PROGRESS, NOT_READY } from './account-exports.service.js';

const NO_EXPORT = new NotFoundError('export');
const EXAMPLE_TAG = '"019aa5c8-2c40-7e1b-9d3f-5a6b7c8d9e0f"';
const TAR = { 'application/x-tar': { schema: { type: 'string' as const, format: 'binary' } } };

@ApiTags('Account')
@Controller('v1/account/export')
export class AccountExportsController {
  constructor(
    private readonly exports: AccountExportsService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Export the account
   *
   * @remarks
   * Begins to prepare one archive of all that the account has. It takes the place of an earlier one, and expires after
   * a day.
   */
  @Post()
  @HttpCode(202)
  @ApiAcceptedResponse({
    type: AccountExportView,
    example: { status: 'preparing', size_bytes: null, archive_uri: null },
  })
  @ApiErrors(IN_PROGRESS())
  @RequireScope('account:write', 'recordings:read', 'webhooks:read')
  async begin(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Query() _query: NoQuery,
  ): Promise<AccountExportView> {
    const begun = await this.exports.begin(accountId);
    this.securityLog.record('account exported', { ...actor, export_id: begun.id });
    return presentAccountExport(begun);
  }

  /**
   * Get the export of the account
   *
   * @remarks
   * Returns whether the archive is ready.
   */
  @Get()
  @ApiErrors(NO_EXPORT)
  @RequireScope('account:read')
  async get(@CurrentPrincipal() { accountId }: Principal, @Query() _query: NoQuery): Promise<AccountExportView> {
    return presentAccountExport(await this.exports.get(accountId));
  }

  /**
   * Download the export of the account
   *
   * @remarks
   * Returns the archive, a tar file, or ranges of it. Its bytes do not change, so that a download that was interrupted can
   * be resumed with `Range` and `If-Range`.
   */
  @Get('archive')
  @ApiHeader({ name: 'Range', required: false, description: 'Ranges of bytes, at most 16.', example: 'bytes=65536-' })
  @ApiHeader({ name: 'If-Range', required: false, description: 'Sends the range only if the archive is this one.' })
  @ApiResponse({ status: 200, description: 'The archive.', content: TAR })
  @ApiResponse({ status: 206, description: 'The requested range.', content: TAR })
  @ApiResponse({ status: 304, description: 'Not modified.' })
  @ApiErrors(
    NO_EXPORT,
    NOT_READY(),
    new PreconditionFailedError('The export', EXAMPLE_TAG),
    new RangeNotSatisfiableError(734_003_200),
  )
  @RequireScope('account:write', 'recordings:read', 'webhooks:read')
  async download(
    @CurrentPrincipal() { accountId }: Principal,
    @Req() request: Request,
    @Res() response: Response,
    @Query() _query: NoQuery,
  ): Promise<void> {
    const found = await this.exports.getReady(accountId);
    response.setHeader('Cache-Control', 'private, no-store');
    await answerWithFile(request, response, {
      what: 'export',
      size: Number(found.sizeBytes),
      contentType: 'application/x-tar',
      entityTag: `"${found.id}"`,
      lastModified: found.createdAt,
      disposition: 'attachment',
      filename: `account-${accountId}.tar`,
      open: (range, signal) => this.exports.read(found, range, signal),
      onBytes: () => undefined,
    });
  }
}
