import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { childEnvironment } from '../../../platform/config/child-environment.js';
import { sandboxed, failedToStart, findProgram, type Limits } from './sandbox.js';

const ROOM: Limits = { dataBytes: 256 << 20, openFiles: 16, cpuSeconds: 20 };

function run(script: string, limits = ROOM): { stdout: string; stderr: string; end: number | string | null } {
  const { program, args } = sandboxed({ program: '/bin/sh', args: ['-c', script] }, limits, __filename);
  const { stdout, stderr, status, signal } = spawnSync(program, args, { env: childEnvironment(), encoding: 'utf8' });
  return { stdout, stderr, end: signal ?? status };
}

describe('confined', () => {
  it('hands over what it is given, and the end of it', () => {
    expect(run('echo said; echo heard >&2; exit 7')).toEqual({ stdout: 'said\n', stderr: 'heard\n', end: 7 });
  });

  it('gives way: the process that was started is the program', () => {
    const { program, args } = sandboxed({ program: '/bin/sh', args: ['-c', 'echo $$'] }, ROOM, __filename);
    const { pid, stdout } = spawnSync(program, args, { encoding: 'utf8' });
    expect(Number(stdout)).toBe(pid);
  });
});

const mayHaveUsers = spawnSync('unshare', ['--net', '--map-current-user', 'true']).status === 0;

(mayHaveUsers ? describe : describe.skip)('in namespaces of its own, a process', () => {
  const mine = `/proc/${process.pid}/environ`;

  it('cannot look into the environment of the process that started it', () => {
    expect(spawnSync('/bin/cat', [mine]).stdout).not.toHaveLength(0);
    expect(run(`cat ${mine}`)).toMatchObject({ stdout: '', end: 1 });
  });

  it('has no route to anywhere', () => {
    expect(run('tail -n +2 /proc/net/route').stdout).toBe('');
  });
});

// Without prlimit (macOS) nothing is limited.
(findProgram('prlimit') ? describe : describe.skip)('a process that', () => {
  it('takes too much time is ended', () => {
    expect(run('while :; do :; done', { ...ROOM, cpuSeconds: 1 }).end).toBe('SIGXCPU');
  });

  it('writes a file is ended, without a core', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'sandbox-'));
    const { end } = run(`cd ${folder}; echo x > file; echo still here`);
    expect(end).toBe('SIGXFSZ');
    expect(existsSync(path.join(folder, 'core'))).toBe(false);
    rmSync(folder, { recursive: true });
  });

  it('opens too many files, or asks for too much memory, is refused them', () => {
    const openTwo = 'exec 3</dev/null; exec 4</dev/null; echo opened';
    expect(run(openTwo).stdout).toBe('opened\n');
    expect(run(openTwo, { ...ROOM, openFiles: 4 }).stdout).toBe('');
    expect(run('x=0123456789; while :; do x=$x$x; done').end).not.toBe(0);
  });

  it('cannot be started says so itself', () => {
    const { program, args } = sandboxed({ program: '/nowhere/ffmpeg', args: [] }, ROOM, __filename);
    const { stderr } = spawnSync(program, args, { encoding: 'utf8' });
    expect(failedToStart(stderr)).toBe(true);
    expect(failedToStart('[matroska @ 0x55] unshare: no')).toBe(false);
  });
});
