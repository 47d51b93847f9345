import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { childEnvironment } from '../../../platform/config/child-environment.js';
import { sandboxed, failedToStart, findProgram, type Limits } from './sandbox.js';

const LIMITS: Limits = { dataBytes: 256 << 20, openFiles: 16, cpuSeconds: 20 };

function run(script: string, limits = LIMITS): { stdout: string; stderr: string; end: number | string | null } {
  const { program, args } = sandboxed({ program: '/bin/sh', args: ['-c', script] }, limits, __filename);
  const { stdout, stderr, status, signal } = spawnSync(program, args, { env: childEnvironment(), encoding: 'utf8' });
  return { stdout, stderr, end: signal ?? status };
}

describe('sandboxed', () => {
  it('passes output and exit code on', () => {
    expect(run('echo out; echo err >&2; exit 7')).toEqual({ stdout: 'out\n', stderr: 'err\n', end: 7 });
  });

  it('execs the program, which keeps the process id', () => {
    const { program, args } = sandboxed({ program: '/bin/sh', args: ['-c', 'echo $$'] }, LIMITS, __filename);
    const { pid, stdout } = spawnSync(program, args, { encoding: 'utf8' });
    expect(Number(stdout)).toBe(pid);
  });
});

const hasUserNamespaces = spawnSync('unshare', ['--net', '--map-current-user', 'true']).status === 0;

(hasUserNamespaces ? describe : describe.skip)('a process in its own namespaces', () => {
  const parent = `/proc/${process.pid}/environ`;

  it('cannot read the environment of its parent', () => {
    expect(spawnSync('/bin/cat', [parent]).stdout).not.toHaveLength(0);
    expect(run(`cat ${parent}`)).toMatchObject({ stdout: '', end: 1 });
  });

  it('has no network route', () => {
    expect(run('tail -n +2 /proc/net/route').stdout).toBe('');
  });
});

// Without prlimit (macOS) nothing is limited.
(findProgram('prlimit') ? describe : describe.skip)('a process that', () => {
  it('uses too much CPU time is ended', () => {
    expect(run('while :; do :; done', { ...LIMITS, cpuSeconds: 1 }).end).toBe('SIGXCPU');
  });

  it('writes a file is ended without a core dump', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'sandbox-'));
    const { end } = run(`cd ${folder}; echo x > file; echo still here`);
    expect(end).toBe('SIGXFSZ');
    expect(existsSync(path.join(folder, 'core'))).toBe(false);
    rmSync(folder, { recursive: true });
  });

  it('cannot open too many files or allocate too much memory', () => {
    const openTwo = 'exec 3</dev/null; exec 4</dev/null; echo opened';
    expect(run(openTwo).stdout).toBe('opened\n');
    expect(run(openTwo, { ...LIMITS, openFiles: 4 }).stdout).toBe('');
    expect(run('x=0123456789; while :; do x=$x$x; done').end).not.toBe(0);
  });

  it('cannot be started is recognised by its message', () => {
    const { program, args } = sandboxed({ program: '/nowhere/ffmpeg', args: [] }, LIMITS, __filename);
    const { stderr } = spawnSync(program, args, { encoding: 'utf8' });
    expect(failedToStart(stderr)).toBe(true);
    expect(failedToStart('[matroska @ 0x55] unshare: no')).toBe(false);
  });
});
