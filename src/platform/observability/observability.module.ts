import { Global, Module } from '@nestjs/common';
import { HealthService } from './health/health.service.js';
import { MetricsMiddleware } from './metrics.middleware.js';

@Global()
@Module({
  providers: [HealthService, MetricsMiddleware],
  exports: [HealthService, MetricsMiddleware],
})
export class ObservabilityModule {}
