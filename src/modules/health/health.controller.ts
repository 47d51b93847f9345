import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Registry } from 'prom-client';
import { Public } from '../../access/access.decorators.js';
import { sharedRun } from '../../platform/concurrency/shared-run.js';
import { Env } from '../../platform/config/env.js';
import { AuthenticationError } from '../../platform/errors/errors.js';
import { type HealthReport, HealthService } from '../../platform/observability/health.service.js';
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

@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  private readonly build = sharedRun(() => this.registry.metrics());

  constructor(
    private readonly registry: Registry,
    private readonly env: Env,
    private readonly access: OperatorAccessService,
  ) {}

  @Get()
  @Public()
  async scrape(@Req() request: Request, @Res() response: Response): Promise<void> {
    // By token where there is one, else only to the machine itself (D31).
    const isAllowed = this.env.metricsToken === null ? this.access.isLocal(request) : this.access.hasToken(request);
    if (!isAllowed) throw new AuthenticationError('Send the METRICS_TOKEN of this service as a Bearer token.');
    response.setHeader('Content-Type', this.registry.contentType);
    response.end(await this.build());
  }
}
