import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxMode } from '../config/env.js';
import {
  endOf,
  failedToStart,
  forgetIsolation,
  isolationFor,
  isolationLevels,
  keepStderrTail,
  SandboxUnavailableError,
  spawnSandboxed,
} from './sandbox.js';
import { findProgram, type IsolationLevel, killAll, type Limits, startWrapped } from './wrappers.js';
import { seccompFilter, type SystemCalls } from './seccomp-filter.js';

// A second of CPU time takes many on a busy machine.
jest.setTimeout(30_000);

const LIMITS: Limits = { dataBytes: 256 << 20, openFiles: 32, cpuSeconds: 20 };
const SHELL = '/bin/sh';

interface Outcome {
  stdout: string;
  stderr: string;
  end: number | string | null;
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const closed = once(child, 'close') as Promise<[number | null, string | null]>;
  const [stdout, stderr] = await Promise.all([text(child.stdout as Readable), text(child.stderr as Readable)]);
  return { stdout, stderr, end: endOf(...(await closed)) };
}

async function run(script: string, limits = LIMITS, mode: SandboxMode = 'auto'): Promise<Outcome> {
  const command = { program: SHELL, args: ['-c', script] };
  const sandbox = { mode, limits, calls: 'deny-list', reads: [__filename] } as const;
  return await outcomeOf(await spawnSandboxed(command, sandbox, ['ignore', 'pipe', 'pipe']));
}

/** Runs a script at this level, whatever was found to work. */
async function runAt(level: IsolationLevel, script: string, calls: SystemCalls = 'deny-list'): Promise<Outcome> {
  const command = { program: SHELL, args: ['-c', script] };
  return await outcomeOf(
    startWrapped(command, { limits: LIMITS, calls, reads: [__filename] }, level, ['ignore', 'pipe', 'pipe']),
  );
}

const worksAt = (program: string, ...args: string[]): boolean => spawnSync(program, [...args, 'true']).status === 0;
const hasUserNamespaces = worksAt('unshare', '--net', '--map-current-user');
const hasBubblewrap = worksAt('bwrap', '--unshare-all', '--ro-bind', '/', '/');

describe('spawnSandboxed', () => {
  it.each(['auto', 'off'] as const)('passes output and exit code on with SANDBOX=%s', async (mode) => {
    expect(await run('echo out; echo err >&2; exit 7', LIMITS, mode)).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      end: 7,
    });
  });

  it.each(['auto', 'off'] as const)('reports the signal that ended the program with SANDBOX=%s', async (mode) => {
    expect(await run('kill -SEGV $$', LIMITS, mode)).toMatchObject({ end: 'SIGSEGV' });
  });
});

(hasUserNamespaces ? describe : describe.skip)('a process in its own namespaces', () => {
  const parent = `/proc/${process.pid}/environ`;

  it('cannot read the environment of its parent', async () => {
    expect(spawnSync('/bin/cat', [parent]).stdout).not.toHaveLength(0);
    expect(await runAt('namespaces', `cat ${parent}`)).toMatchObject({ stdout: '', end: 1 });
  });

  it('has no network route', async () => {
    expect((await runAt('namespaces', 'tail -n +2 /proc/net/route')).stdout).toBe('');
  });
});

(hasBubblewrap ? describe : describe.skip)('a process in bubblewrap', () => {
  const inside = (script: string): Promise<Outcome> => runAt('bubblewrap', script);

  it('sees programs, libraries and the files that it reads, and nothing else', async () => {
    const folders = (await inside('echo /* /dev/* /etc/*')).stdout.split(/\s+/);
    expect(folders).not.toEqual(expect.arrayContaining(['/proc']));
    expect(
      folders.filter((name) => /^\/(proc|root|home|var|sys|run|data|tmp)\b/.test(name) && !__filename.startsWith(name)),
    ).toEqual([]);
    expect(folders.filter((name) => /passwd|shadow|hosts|ssl/.test(name))).toEqual([]);
    expect((await inside(`cat ${__filename}`)).stdout).toBe(readFileSync(__filename, 'utf8'));
    expect((await inside(`ls ${path.dirname(__filename)}`)).stdout).toBe(`${path.basename(__filename)}\n`);
  });

  it('can write nowhere', async () => {
    const targets = ['/x', '/etc/x', `${__filename}.x`, '/usr/x', '/dev/x'];
    const { stdout } = await inside(targets.map((file) => `(: > ${file}) 2>/dev/null && echo ${file}`).join('; '));
    expect(stdout).toBe('');
  });

  it('can signal no process of the service', async () => {
    const { stdout } = await inside(`kill -0 ${process.pid} 2>/dev/null && echo reached`);
    expect(stdout).toBe('');
  });

  const filtered = seccompFilter('deny-list') && findProgram('python3') ? it : it.skip;
  const CALLS = {
    socket: [41, 198],
    connect: [42, 203],
    ptrace: [101, 117],
    process_vm_readv: [310, 270],
    unshare: [272, 97],
    setns: [308, 268],
    mount: [165, 40],
    pivot_root: [155, 41],
    bpf: [321, 280],
    userfaultfd: [323, 282],
    keyctl: [250, 219],
    perf_event_open: [298, 241],
    io_uring_setup: [425, 425],
  };
  /** Not on the allow list, and not on the deny list. */
  const FURTHER = {
    clone: [56, 220],
    kill: [62, 129],
    socketpair: [53, 199],
    memfd_create: [319, 279],
    unlinkat: [263, 35],
    execveat: [322, 281],
  };

  filtered.each([
    ['deny-list', CALLS],
    ['allow-list', { ...CALLS, ...FURTHER }],
  ] as const)('as %s is refused what it never needs by the kernel', async (calls, refused) => {
    // Signal 0 and invalid arguments: what is not refused does no harm, and answers with another error.
    const script = `
import ctypes, json, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
for name, numbers in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    libc.syscall(numbers[0] if platform.machine() == 'x86_64' else numbers[1], 2, 1, 0, 0, 0)
    print(name, ctypes.get_errno())
print(open('/dev/null').read() == '')`;
    const command = `exec python3 -c "${script}" '${JSON.stringify(refused)}'`;
    const { stdout, stderr } = await runAt('bubblewrap', command, calls);
    const [EPERM, ENOSYS] = [1, 38];
    const expected = Object.entries(refused).map(([name, [number = 0]]) => {
      // Libraries take ENOSYS of a new call for an old kernel.
      return `${name} ${calls === 'allow-list' && number >= 424 ? ENOSYS : EPERM}`;
    });
    expect({ lines: stdout.trim().split('\n'), stderr }).toEqual({ lines: [...expected, 'True'], stderr: '' });
  });

  it('ends when it is killed from outside', async () => {
    const sandbox = { limits: LIMITS, calls: 'deny-list', reads: [__filename] } as const;
    const command = { program: SHELL, args: ['-c', 'echo started; sleep 60'] };
    const child = startWrapped(command, sandbox, 'bubblewrap', ['ignore', 'pipe', 'pipe']);
    await once(child.stdout as Readable, 'data');
    child.kill('SIGKILL');
    // The pipes are closed when the last process of the sandbox has ended.
    expect((await once(child, 'close')) as unknown[]).toEqual([null, 'SIGKILL']);
  });

  it('ends when it is killed while it starts', async () => {
    const sandbox = { limits: LIMITS, calls: 'deny-list', reads: [__filename] } as const;
    const command = { program: SHELL, args: ['-c', 'sleep 60'] };
    const children = Array.from({ length: 40 }, () =>
      startWrapped(command, sandbox, 'bubblewrap', ['ignore', 'pipe', 'pipe']),
    );
    await Promise.all(
      children.map(async (child, i) => {
        await delay(i);
        killAll(child);
        await once(child, 'close');
      }),
    );
  });
});

describe('what was found', () => {
  let folder: string;
  let searchPath: string | undefined;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'sandbox-'));
    searchPath = process.env.PATH;
    forgetIsolation();
  });
  afterEach(() => {
    process.env.PATH = searchPath;
    rmSync(folder, { recursive: true });
    forgetIsolation();
  });

  const found = (mode: SandboxMode): Promise<IsolationLevel> =>
    isolationFor({ program: SHELL, args: [] }, { mode, limits: LIMITS, calls: 'deny-list', reads: [__filename] });

  function fakeBubblewrap(script: string): void {
    const file = path.join(folder, 'bwrap');
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    process.env.PATH = `${folder}:${searchPath}`;
  }

  it.each(['auto', 'required'] as const)('is bubblewrap where it works: SANDBOX=%s', async (mode) => {
    if (!hasBubblewrap) return;
    expect(await found(mode)).toBe('bubblewrap');
    expect(isolationLevels().get('sh')).toBe('bubblewrap');
  });

  it('is less where bubblewrap may not make namespaces, and refused with SANDBOX=required', async () => {
    fakeBubblewrap('echo "bwrap: No permissions to create new namespace" >&2; exit 1');
    expect(await found('auto')).toBe(hasUserNamespaces ? 'namespaces' : 'none');
    await expect(found('required')).rejects.toThrow(SandboxUnavailableError);
    await expect(found('required')).rejects.toThrow(
      'SANDBOX=required, but bubblewrap cannot isolate sh: bwrap: No permissions to create new namespace. ' +
        'Install the package bubblewrap and permit user namespaces, or set SANDBOX=auto.',
    );
  });

  it('is nothing with SANDBOX=off', async () => {
    expect(await found('off')).toBe('none');
  });

  it('is not given up after a slow answer', async () => {
    if (!hasBubblewrap) return;
    // Three seconds are more than the first probe waits, and only the first call is slow.
    fakeBubblewrap(`[ -e ${folder}/asked ] || { : > ${folder}/asked; sleep 3; }; exec ${findProgram('bwrap')} "$@"`);
    expect(await found('auto')).toBe('bubblewrap');
  });
});

// Without prlimit (macOS) nothing is limited.
(findProgram('prlimit') ? describe : describe.skip).each(['auto', 'off'] as const)(
  'with SANDBOX=%s a process that',
  (mode) => {
    it('uses too much CPU time is ended', async () => {
      expect((await run('while :; do :; done', { ...LIMITS, cpuSeconds: 1 }, mode)).end).toBe('SIGXCPU');
    });

    it('writes a file is ended without a core dump', async () => {
      const folder = mkdtempSync(path.join(os.tmpdir(), 'sandbox-'));
      const { stdout } = await run(`cd ${folder}; echo x > file; echo still here`, LIMITS, mode);
      if (mode === 'off') expect(stdout).toBe('');
      expect(existsSync(path.join(folder, 'file')) && readFileSync(path.join(folder, 'file'), 'utf8')).toBeFalsy();
      expect(existsSync(path.join(folder, 'core'))).toBe(false);
      rmSync(folder, { recursive: true });
    });

    it('cannot open too many files or allocate too much memory', async () => {
      const openMany = 'for n in 3 4 5 6 7 8 9; do eval "exec $n</dev/null"; done; echo opened';
      expect((await run(openMany, LIMITS, mode)).stdout).toBe('opened\n');
      expect((await run(openMany, { ...LIMITS, openFiles: 9 }, mode)).stdout).toBe('');
      expect((await run('x=0123456789; while :; do x=$x$x; done', LIMITS, mode)).end).not.toBe(0);
    });
  },
);

describe('failedToStart', () => {
  it('recognises the messages of the wrappers', async () => {
    const child = startWrapped(
      { program: '/nowhere/ffmpeg', args: [] },
      { limits: LIMITS, calls: 'deny-list', reads: [__filename] },
      'none',
      ['ignore', 'pipe', 'pipe'],
    );
    if (findProgram('prlimit')) expect(failedToStart((await outcomeOf(child)).stderr)).toBe(true);
    expect(failedToStart('bwrap: No permissions')).toBe(true);
    expect(failedToStart('[matroska @ 0x55] unshare: no')).toBe(false);
  });
});

describe('keepStderrTail', () => {
  it('keeps the last 2048 bytes, in whatever parts they came', async () => {
    const stderr = new PassThrough();
    const tail = keepStderrTail(stderr);
    expect(tail()).toBe('');
    stderr.write('first\n');
    stderr.write('second\n');
    await new Promise(setImmediate);
    expect(tail()).toBe('first\nsecond\n');
    stderr.write('x'.repeat(2047));
    await new Promise(setImmediate);
    expect(tail()).toBe(`\n${'x'.repeat(2047)}`);
    stderr.write('yz');
    await new Promise(setImmediate);
    expect(tail()).toBe(`${'x'.repeat(2046)}yz`);
  });

  it('is empty for a process without such a stream', () => {
    expect(keepStderrTail(null)()).toBe('');
  });
});
