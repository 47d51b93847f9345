import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { childEnvironment } from '../../../platform/config/child-environment.js';
import type { SandboxMode } from '../../../platform/config/env.js';
import { errorCode } from '../../../platform/storage/file-system.js';
import { bubblewrapOptions } from './bubblewrap.js';
import { findProgram } from './programs.js';
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
