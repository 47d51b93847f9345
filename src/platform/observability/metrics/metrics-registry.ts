import { collectDefaultMetrics, Registry } from 'prom-client';
import type { EventBus } from '../../events/event-bus.js';
import { valueGauge } from './value-gauge.js';

/** The Prometheus metrics of this process, to which each part adds its own. Labels never hold values chosen by clients. */
export function createMetricsRegistry(bus: EventBus): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const help = 'Extension listeners that failed and were rolled back since the process started.';
  registry.registerMetric(valueGauge('extension_listener_failures', help, () => bus.listenerFailures));
  return registry;
}
