import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { HomeController } from './home.controller.js';
import { MetricsController } from './metrics.controller.js';
import { OperatorAccessService } from './operator-access.service.js';

@Module({
  controllers: [HealthController, HomeController, MetricsController],
  providers: [OperatorAccessService],
})
export class HealthModule {}
