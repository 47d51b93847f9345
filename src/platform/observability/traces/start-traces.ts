import type { Env } from '../../config/env.js';
import { setTraces } from './traces.js';

/** Starts traces if the environment asks for them: by an endpoint, or by name. Only then is OpenTelemetry loaded. */
export async function startTraces(env: Env): Promise<void> {
  if (env.otelSdkDisabled || env.otelTracesExporter === 'none') return;
  const endpoint = env.otelExporterOtlpTracesEndpoint ?? env.otelExporterOtlpEndpoint;
  if (env.otelTracesExporter !== 'otlp' && !endpoint) return;
  const { OpenTelemetryTraces } = await import('./open-telemetry.js');
  setTraces(new OpenTelemetryTraces(env));
}
