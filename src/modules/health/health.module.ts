import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { OperatorAccessService } from './operator-access.service.js';

@Module({
  controllers: [HealthController, MetricsController],
  providers: [OperatorAccessService],
})
export class HealthModule {}
