import { createApp } from '../app.setup.js';
import type { Extension } from '../extension.js';
import { type Env, readEnv } from '../platform/config/env.js';
import { protectProcess } from '../platform/config/process-protection.js';
import { connectionErrorMessage } from '../platform/database/unavailable.js';
import { setTraces, traces } from '../platform/observability/traces/traces.js';

/** Longest orderly stop; other processes take over unfinished work. A second signal stops at once. */
const STOP_MS = 10_000;

/** Starts the roles in ROLES with these extensions and serves until SIGTERM or SIGINT. */
export async function runService(extensions: Extension[]): Promise<void> {
  let env: Env | undefined;
  try {
    env = readEnv(process.env);
    protectProcess();
    await startTraces(env);
    const app = await createApp(env, extensions);
    stopOnSignals(async () => {
      await app.close();
      await traces.stop();
    });
    await app.listen(env.port, env.host);
    app.flushLogs();
  } catch (error) {
    const unreachable = env ? connectionErrorMessage(error, env.databaseUrl) : null;
    process.stderr.write(`${unreachable ?? (error as Error).message}\n`);
    process.exit(1);
  }
}

/** Starts traces if the environment asks for them: by an endpoint, or by name. Only then is OpenTelemetry loaded. */
async function startTraces(env: Env): Promise<void> {
  if (env.otelSdkDisabled || env.otelTracesExporter === 'none') return;
  const endpoint = env.otelExporterOtlpTracesEndpoint ?? env.otelExporterOtlpEndpoint;
  if (env.otelTracesExporter !== 'otlp' && !endpoint) return;
  const { OpenTelemetryTraces } = await import('../platform/observability/traces/open-telemetry.js');
  setTraces(new OpenTelemetryTraces(env));
}

function stopOnSignals(close: () => Promise<void>): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), STOP_MS).unref();
    void close().then(
      // Exit code 0, unless process.exitCode says otherwise.
      () => process.exit(),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}
