import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ServiceProcess } from '../../support/service/service-process.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { engineProcesses, isRunning, childrenOf, memoryOf } from '../../support/service/process-stats.js';
import { eventually } from '../../../src/testing/eventually.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { longRecording } from '../../support/audio/long-recording.js';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';
import { useService } from '../../../src/testing/test-service.js';

const BOTH = 'api,worker';
const SECRETS = {
  S3_ACCESS_KEY_ID: 'an-access-key-id-of-s3',
  S3_SECRET_ACCESS_KEY: 'a-secret-access-key-of-s3',
  OPENAI_API_KEY: 'sk-a-key-of-openai',
  METRICS_TOKEN: 'a-token-for-the-metrics',
  SOMETHING_UNKNOWN: 'unknown-to-the-service',
};
const BEARER = { authorization: `Bearer ${SECRETS.METRICS_TOKEN}` };
const MIB = 1 << 20;
const KINDS = ['ffmpeg', 'engine'] as const;

/** The processes that touch strangers' audio, while they do: what the system says of them. Linux only. */
describe('a child process of a worker', () => {
  let built: ServiceProcess;
  let client: ApiClient;
  const pids = { ffmpeg: 0, engine: 0 };

  const service = useService({ ROLES: 'api' });
  const { environment } = service;

  beforeAll(async () => {
    built = await ServiceProcess.start(environment, BOTH, { ...SECRETS, MAX_AUDIO_SECONDS: '600' });
    client = (await service.account()).at(built.url);
    await client.upload(await longRecording(20)).expect(201);
    pids.ffmpeg = await eventually(() => childrenOf(built.pid, 'ffmpeg')[0]);
    // It stays as it is until the service ends it.
    process.kill(pids.ffmpeg, 'SIGSTOP');
    pids.engine = await eventually(() => engineProcesses(built.pid)[0]);
  });

  afterAll(async () => {
    await built.end('SIGTERM');
  });

  it.each([
    ['ffmpeg', { data: 128 * MIB, files: 32, cpu: 37 }],
    ['engine', { data: 1024 * MIB, files: 64, cpu: 'unlimited' }],
  ] as const)('has limits that fit it: %s', (kind, { data, files, cpu }) => {
    const limits = limitsOf(pids[kind]);
    expect(limits).toMatchObject({
      'Max data size': String(data),
      'Max open files': String(files),
      'Max file size': '0',
      'Max core file size': '0',
      'Max cpu time': String(cpu),
    });
    const open = readdirSync(`/proc/${pids[kind]}/fd`).length;
    const { peak } = memoryOf(pids[kind]);
    reportMeasurement(
      `${kind}: ${Math.round(privateMemoryOf(pids[kind]) / 1e6)} MB private, ${Math.round(peak / 1e6)} MB resident at most, ${open} files open`,
    );
    expect(open).toBeLessThan(files / 2);
    expect(privateMemoryOf(pids[kind])).toBeLessThan(data * 0.7);
  });

  it.each(KINDS)('sees no secret: %s', (kind) => {
    const environmentOf = (pid: number): string => readFileSync(`/proc/${pid}/environ`, 'utf8');
    const names = environmentOf(pids[kind])
      .split('\0')
      .map((line) => line.split('=')[0]);
    expect(names).toContain('PATH');
    expect(names.join()).not.toMatch(/DATABASE|REDIS|SECRET|S3|OPENAI|TOKEN|UNKNOWN/);
    const secrets = [...Object.values(SECRETS), ...secretsOf(environment)];
    // So that a value that is nowhere cannot pass for one that is kept away.
    if (process.getuid?.() === 0) for (const secret of secrets) expect(environmentOf(built.pid)).toContain(secret);
    // The service is closed to other processes of its user.
    else expect(() => environmentOf(built.pid)).toThrow('EACCES');
    for (const secret of secrets) expect(environmentOf(pids[kind])).not.toContain(secret);
  });

  it('reads files and pipes only: ffmpeg', () => {
    const args = readFileSync(`/proc/${pids.ffmpeg}/cmdline`, 'utf8').split('\0');
    expect(args[args.indexOf('-protocol_whitelist') + 1]).toBe('file,pipe');
    expect(args.indexOf('-protocol_whitelist')).toBeLessThan(args.indexOf('-i'));
  });

  it.each(KINDS)('has no network, where a process may be given one of its own: %s', (kind) => {
    const networkOf = (pid: number): string => readlinkSync(`/proc/${pid}/ns/net`);
    const isApart = networkOf(pids[kind]) !== networkOf(built.pid);
    expect(isApart).toBe(mayLeaveTheNet());
    if (!isApart) return;
    const interfaces = readFileSync(`/proc/${pids[kind]}/net/dev`, 'utf8').split('\n').slice(2, -1);
    expect(interfaces.every((line) => /^\s*(lo|\w*tunl\w*|sit\w*|gre\w*|erspan\w*|ip_\w+|ip6\w+):/.test(line))).toBe(
      true,
    );
    expect(readFileSync(`/proc/${pids[kind]}/net/route`, 'utf8').trim().split('\n')).toHaveLength(1);
  });

  it.each(KINDS)('is in bubblewrap with a seccomp filter, where a process may be: %s', async (kind) => {
    const program = kind === 'ffmpeg' ? 'ffmpeg' : 'node';
    const metrics = await (await fetch(`${built.url}/metrics`, { headers: BEARER })).text();
    const isolated = mayUseBubblewrap();
    expect(metrics.includes(`sandbox_level{program="${program}",level="bubblewrap"} 1`)).toBe(isolated);
    if (!isolated) return;
    const status = readFileSync(`/proc/${pids[kind]}/status`, 'utf8');
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(readdirSync(`/proc/${pids[kind]}/root`)).not.toContain('proc');
  });

  it('is gone once the service has stopped, also when it did nothing any more', async () => {
    const all = [...childrenOf(built.pid, 'ffmpeg'), ...engineProcesses(built.pid)];
    expect(all).toEqual(expect.arrayContaining(Object.values(pids)));
    await built.end('SIGTERM');
    expect(built.exit).toBe(0);
    await eventually(() => !all.some((pid) => isRunning(pid)), 20_000);
  });

  it('is gone when the service is killed: its engine', async () => {
    const other = await ServiceProcess.start(environment, BOTH, SECRETS);
    const [engine] = await eventually(() => {
      const found = engineProcesses(other.pid);
      return found.length > 0 && found;
    });
    process.kill(other.pid, 'SIGKILL');
    await eventually(() => !isRunning(engine as number), 30_000);
  });
});

describe('SANDBOX', () => {
  const { environment } = useService({ ROLES: 'api' });
  let folder: string;

  beforeAll(async () => {
    // Everything that a worker runs, except bubblewrap and unshare.
    folder = await mkdtemp(path.join(os.tmpdir(), 'sandbox-e2e-'));
    for (const name of ['ffmpeg', 'prlimit', 'test']) {
      const file = spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim();
      if (file) await symlink(file, path.join(folder, name));
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function readinessWith(SANDBOX: string): Promise<{ status: number; engine: string }> {
    const built = await ServiceProcess.start(
      environment,
      BOTH,
      { SANDBOX, PATH: folder },
      { readiness: '/health/live' },
    );
    try {
      // A busy machine may need more than the time of one health check to load the engine.
      return await eventually(async () => {
        const response = await fetch(`${built.url}/health/ready`);
        const { checks } = (await response.json()) as { checks: { engine: string } };
        return !checks.engine.startsWith('no answer') && { status: response.status, engine: checks.engine };
      });
    } finally {
      await built.end('SIGTERM');
    }
  }

  it('required without bubblewrap makes a worker not ready, with the reason; auto and off do not', async () => {
    const [required, auto, off] = await Promise.all(['required', 'auto', 'off'].map(readinessWith));
    expect(required).toEqual({
      status: 503,
      engine:
        'SANDBOX=required, but bubblewrap cannot isolate ffmpeg: bwrap is not installed. ' +
        'Install the package bubblewrap and permit user namespaces, or set SANDBOX=auto.',
    });
    expect(auto).toEqual({ status: 200, engine: 'ok' });
    expect(off).toEqual({ status: 200, engine: 'ok' });
  });
});

function limitsOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/limits`, 'utf8').split('\n').slice(1, -1);
  return Object.fromEntries(lines.map((line) => line.split(/\s{2,}/) as [string, string]));
}

/** What RLIMIT_DATA counts. */
function privateMemoryOf(pid: number): number {
  return Number(/^VmData:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

function secretsOf({ variables }: TestEnvironment): string[] {
  return ['DATABASE_URL', 'REDIS_URL', 'SECRET_KEY'].map((name) => variables[name] as string);
}

function mayUseBubblewrap(): boolean {
  return spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true']).status === 0;
}

function mayLeaveTheNet(): boolean {
  return [['--net', '--map-current-user'], ['--net']].some(
    (options) => spawnSync('unshare', [...options, 'true']).status === 0,
  );
}
