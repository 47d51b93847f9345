import { Module } from '@nestjs/common';
import { HealthController, MetricsController } from './health.controller.js';
import { OperatorAccessService } from './operator-access.service.js';

@Module({
  controllers: [HealthController, MetricsController],
  providers: [OperatorAccessService],
})
export class HealthModule {}
