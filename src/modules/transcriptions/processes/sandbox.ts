import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../../../platform/config/child-environment.js';

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

/**
 * Options of `unshare`, preferred first. In its own user namespace a process also cannot read the environment and memory
 * of other processes of its user. There, root may be refused the files of others; the second way avoids that.
 */
const NETWORK_ISOLATION = [['--net', '--map-current-user'], ['--net']];
/** Typical: 5 ms. */
const PROBE_MS = 2_000;

const probed = new Map<string, string[]>();

/**
 * Wraps a command with resource limits and network isolation, as far as the machine allows: util-linux may be missing,
 * and containers may not permit namespaces. The wrappers exec the program, so that it keeps the process id and all file
 * descriptors.
 * @param reads a file that the program must be able to read; other files of its folder are assumed to be readable too
 */
export function sandboxed({ program, args }: Command, limits: Limits, reads: string): Command {
  const [first = program, ...rest] = [...isolationPrefix(program, reads), ...limitPrefix(limits), program, ...args];
  return { program: first, args: rest };
}

/** Whether the output is an error of the wrappers, which could not start the program. */
export function failedToStart(stderr: string): boolean {
  return /^(unshare|prlimit): /.test(stderr);
}

/** The path of the program; null when it is not installed. */
export function findProgram(name: string): string | null {
  const folders = (childEnvironment().PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

function limitPrefix({ dataBytes, openFiles, cpuSeconds }: Limits): string[] {
  const prlimit = findProgram('prlimit');
  if (!prlimit) return [];
  // The second value is the hard limit. ffmpeg sets both itself and cannot exceed it.
  const cpu = cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + 1}`];
  return [prlimit, `--data=${dataBytes}`, `--nofile=${openFiles}`, '--fsize=0', '--core=0', ...cpu, '--'];
}

/** Probed once for each program and folder. */
function isolationPrefix(program: string, reads: string): string[] {
  const key = JSON.stringify([program, path.dirname(reads)]);
  const known = probed.get(key);
  if (known) return known;
  const unshare = findProgram('unshare');
  const test = findProgram('test');
  const options = unshare && test ? NETWORK_ISOLATION.map((flags) => [unshare, ...flags, '--']) : [];
  const usable = options.find(([tool = '', ...flags]) => {
    const probe = [...flags, test ?? '', '-x', program, '-a', '-r', reads];
    return spawnSync(tool, probe, { env: childEnvironment(), stdio: 'ignore', timeout: PROBE_MS }).status === 0;
  });
  probed.set(key, usable ?? []);
  return usable ?? [];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
