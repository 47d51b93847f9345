import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../servers/free-port.js';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';
import { ROOT } from '../paths.js';

/** The built service in a process of its own, whose memory and end are nobody else's. */
export interface BuiltService {
  url: string;
  pid: number;
  /** What it has written so far, on both streams. */
  log(): string;
  /** Null while it runs. */
  exit(): number | string | null;
  stop(): Promise<void>;
}

/** Needs `nest build`. @param overrides environment variables */
export async function startBuilt(
  environment: TestEnvironment,
  overrides: Record<string, string> = {},
): Promise<BuiltService> {
  const port = await freePort();
  const env = { PATH: process.env.PATH, ...environment.variables, PORT: `${port}`, ...overrides };
  const child = spawn(process.execPath, ['dist/main.js'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const written: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => written.push(bytes));
  const exit = (): number | string | null => child.exitCode ?? child.signalCode;
  const log = (): string => Buffer.concat(written).toString('utf8');
  const stop = async (): Promise<void> => {
    if (exit() !== null) return;
    child.kill('SIGTERM');
    await once(child, 'close');
  };
  environment.defer(stop);
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => {
    if (exit() !== null) throw new Error(`the built service ended with ${exit()} instead of starting: ${log()}`);
    return await fetch(`${url}/health/live`).then(
      (answer) => answer.ok,
      () => false,
    );
  });
  return {
    url,
    pid: child.pid as number,
    log,
    exit,
    stop,
  };
}
