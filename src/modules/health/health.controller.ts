import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../access/access.decorators.js';
import { HealthService, type HealthReport } from '../../platform/observability/health.service.js';
import { OperatorAccessService } from './operator-access.service.js';

@ApiExcludeController()
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthService,
    private readonly access: OperatorAccessService,
  ) {}

  @Get('live')
  @Public()
  live(): HealthReport {
    return { status: 'ok' };
  }

  @Get('ready')
  @Public()
  async ready(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<HealthReport> {
    const showsDetails = this.access.hasToken(request) || this.access.isLocal(request);
    const report = showsDetails ? await this.health.report() : { status: await this.health.status() };
    if (report.status === 'unavailable') response.status(503);
    return report;
  }
}
