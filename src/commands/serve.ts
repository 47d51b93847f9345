import { setTimeout as delay } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../app.setup.js';
import type { Extension } from '../extension.js';
import { type Env, readEnv } from '../platform/config/env.js';
import { protectProcess } from '../platform/config/process-protection.js';
import { connectionErrorMessage } from '../platform/database/unavailable.js';
import { BoundedExpressAdapter } from '../platform/http/server/express.adapter.js';
import { HealthService } from '../platform/observability/health.service.js';
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
    const { shutdownDelaySeconds, roles } = env;
    stopOnSignals({
      leave: () => (roles.includes('api') ? leaveProxy(app, shutdownDelaySeconds) : Promise.resolve()),
      close: async () => {
        await app.close();
        await traces.stop();
      },
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

/** Serves on until a proxy that asks for readiness has noticed. Clients that keep a connection are told to make another. */
async function leaveProxy(app: NestExpressApplication, seconds: number): Promise<void> {
  if (seconds === 0) return;
  app.get(HealthService).require('shutdown', async () => 'the process is stopping');
  const adapter = app.getHttpAdapter();
  if (adapter instanceof BoundedExpressAdapter) adapter.endKeepAlive();
  await delay(seconds * 1000);
}

/** Only `close` has to end within STOP_MS. */
function stopOnSignals({ leave, close }: Record<'leave' | 'close', () => Promise<void>>): void {
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    await leave();
    setTimeout(() => process.exit(1), STOP_MS).unref();
    await close().then(
      // Exit code 0, unless process.exitCode says otherwise.
      () => process.exit(),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', () => void stop()).on('SIGINT', () => void stop());
}
