import { Global, Module } from '@nestjs/common';
import { Health } from './health.js';
import { HealthController } from './health.controller.js';
import { Metrics } from './metrics.js';
import { MetricsController } from './metrics.controller.js';

@Global()
@Module({
  controllers: [HealthController, MetricsController],
  providers: [Health, Metrics],
  exports: [Health, Metrics],
})
export class ObservabilityModule {}
