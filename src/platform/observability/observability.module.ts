import { Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { EventBus } from '../events/event-bus.js';
import { HealthService } from './health/health.service.js';
import { createMetricsRegistry } from './metrics/metrics-registry.js';
import { MetricsMiddleware } from './metrics/metrics.middleware.js';

@Global()
@Module({
  providers: [
    HealthService,
    MetricsMiddleware,
    { provide: Registry, inject: [EventBus], useFactory: createMetricsRegistry },
  ],
  exports: [HealthService, MetricsMiddleware, Registry],
})
export class ObservabilityModule {}
