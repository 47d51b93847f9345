import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { childEnvironment } from '../config/process-protection.js';
import type { SandboxMode } from '../config/env.js';
import { errorCode } from '../storage/file-system.js';
import { seccompFilter, type SystemCalls } from './seccomp-filter.js';

/**
 * How far a process is kept apart, strongest first. `bubblewrap`: a root folder, user, network and process list of its own
 * and a seccomp filter. `namespaces`: a user and a network of its own, so that it cannot read the environment and memory of
 * other processes of its user. `network`: that alone, since root may be refused the files of others in a user namespace.
 */
export type IsolationLevel = 'bubblewrap' | 'namespaces' | 'network' | 'none';

/** Resource limits of a process. It may never write files or core dumps. */
export interface Limits {
  /** Private memory (RLIMIT_DATA). Address space is no useful measure: libraries and reservations take most of it. */
  dataBytes: number;
  openFiles: number;
  /** In total. Absent for a process that lives as long as the service. */
  cpuSeconds?: number;
}

export interface Command {
  program: string;
  args: string[];
}

export interface Sandbox {
  mode: SandboxMode;
  limits: Limits;
  /** Absolute paths of files and folders that the program reads, apart from itself and the libraries of the system. */
  reads: readonly [string, ...string[]];
  calls: SystemCalls;
}

/** Standard input, output and error, and further ones. */
export type Streams = readonly ('ignore' | 'pipe')[];

/**
 * Starts the command behind the wrappers of this level. All of them exec the program, except bubblewrap, which waits. The
 * processes are a group of their own: see {@link killAll}.
 */
export function startWrapped(
  { program, args }: Command,
  { limits, reads, calls }: Omit<Sandbox, 'mode'>,
  level: IsolationLevel,
  streams: Streams,
): ChildProcess {
  const filter = level === 'bubblewrap' ? seccompFilter(calls) : null;
  const stdio = filter ? [...streams, 'pipe' as const] : [...streams];
  const descriptor = filter ? ['--seccomp', `${streams.length}`] : [];
  const isolation = level === 'bubblewrap' ? [...bubblewrapOptions(program, reads), ...descriptor] : UNSHARE[level];
  const wrapper = isolation ? [wrapperOf(level), ...isolation, '--'] : [];
  const [first = program, ...rest] = [...limitPrefix(limits), ...wrapper, program, ...args];
  const child = spawn(first, rest, { env: childEnvironment(), stdio, detached: true });
  const pipe = filter ? (child.stdio[streams.length] as Writable | null) : null;
  // Bubblewrap may have ended already, which its exit tells.
  pipe?.on('error', () => undefined).end(filter);
  return child;
}

/**
 * Kills the program and its wrappers. Bubblewrap that is killed alone while it starts leaves behind a process that waits
 * for ever and holds our pipes open.
 */
export function killAll(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** The program that keeps a process apart. */
export function wrapperOf(level: IsolationLevel): string {
  const name = level === 'bubblewrap' ? 'bwrap' : 'unshare';
  return findProgram(name) ?? name;
}

const UNSHARE: Record<Exclude<IsolationLevel, 'bubblewrap'>, string[] | null> = {
  namespaces: ['--net', '--map-current-user'],
  network: ['--net'],
  none: null,
};

/** Util-linux may be missing, as on macOS. */
function limitPrefix({ dataBytes, openFiles, cpuSeconds }: Limits): string[] {
  const prlimit = findProgram('prlimit');
  if (!prlimit) return [];
  // The second value is the hard limit. ffmpeg sets both itself and cannot exceed it.
  const cpu = cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + 1}`];
  return [prlimit, `--data=${dataBytes}`, `--nofile=${openFiles}`, '--fsize=0', '--core=0', ...cpu, '--'];
}

/** Programs and libraries of Linux distributions, Nix and Guix. */
const SYSTEM_FOLDERS = ['/usr', '/lib', '/lib32', '/lib64', '/bin', '/nix/store', '/gnu/store'];
/** What the dynamic linker reads. Debian chooses the BLAS of ffmpeg and PocketSphinx by links in /etc/alternatives. */
const LINKER_FILES = ['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives'];
const DEVICES = ['/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'];

/**
 * Options of bubblewrap: a root folder that holds only programs, libraries and what the program reads, all of it
 * read-only; no /proc, no network, no other process. It ends with this process. It keeps the session of this process:
 * the kernel schedules a session of its own by itself, so that its niceness would mean nothing. No terminal is in reach.
 * @param reads absolute paths of files and folders
 */
function bubblewrapOptions(program: string, reads: readonly string[]): string[] {
  const libraries = (childEnvironment().LD_LIBRARY_PATH ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const optional = [...SYSTEM_FOLDERS, ...LINKER_FILES, ...libraries].flatMap((name) => ['--ro-bind-try', name, name]);
  const required = [...programFiles(program), ...reads].flatMap((name) => ['--ro-bind', name, name]);
  const devices = DEVICES.flatMap((name) => ['--dev-bind-try', name, name]);
  const binds = [...optional, ...required, ...devices, '--remount-ro', '/', '--chdir', '/'];
  return ['--unshare-all', '--die-with-parent', '--cap-drop', 'ALL', ...binds];
}

/** A program outside the system's folders may have its libraries beside it, as in /opt/ffmpeg/bin and /opt/ffmpeg/lib. */
function programFiles(program: string): string[] {
  if (SYSTEM_FOLDERS.some((folder) => program.startsWith(`${folder}/`))) return [];
  const folder = path.dirname(program);
  const prefix = path.dirname(folder);
  const lib = path.join(prefix, 'lib');
  return path.basename(folder) === 'bin' && prefix !== '/' ? [program, ...[lib].filter(existsSync)] : [program];
}

/** The path of the program; null when it is not installed. */
export function findProgram(name: string): string | null {
  const folders = (childEnvironment().PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
