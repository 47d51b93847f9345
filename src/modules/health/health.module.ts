import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { HomeController } from './home.controller.js';
import { MetricsController } from './metrics.controller.js';

@Module({ controllers: [HealthController, HomeController, MetricsController] })
export class HealthModule {}
