import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../../../platform/config/child-environment.js';

/** What a process may take. It may never write a file or leave a core: both are 0 for all. */
export interface Limits {
  /** Private memory (RLIMIT_DATA); address space says little, libraries and reservations take most of it. */
  dataBytes: number;
  openFiles: number;
  /** Over its whole life; none for a process that lives as long as the service. */
  cpuSeconds?: number;
}

export interface Command {
  program: string;
  args: string[];
}

/**
 * In a user namespace of its own a process also cannot look into the environment and the memory of others of its user,
 * ours among them. Root may be refused files of others in there, which the second way does not cost it.
 */
const WAYS_OFF_THE_NET = [['--net', '--map-current-user'], ['--net']];
/** Usual: 5 ms. */
const PROBE_MS = 2_000;

const probed = new Map<string, string[]>();

/**
 * The command that runs another one within its limits and without a network, as far as this machine lets us: util-linux
 * may be missing, and containers may not be permitted namespaces. The tools give way to the program, which keeps the
 * number of the process that is started and all that it is handed.
 * @param reads a file that the program must be able to read; all in its folder are taken to be like it
 */
export function sandboxed({ program, args }: Command, limits: Limits, reads: string): Command {
  const [first = program, ...rest] = [...offTheNet(program, reads), ...withinLimits(limits), program, ...args];
  return { program: first, args: rest };
}

/** Whether what a process wrote is our tools saying that they could not start the program. */
export function failedToStart(stderr: string): boolean {
  return /^(unshare|prlimit): /.test(stderr);
}

/** Its path; null when it is not installed. */
export function findProgram(name: string): string | null {
  const folders = (childEnvironment().PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

function withinLimits({ dataBytes, openFiles, cpuSeconds }: Limits): string[] {
  const prlimit = findProgram('prlimit');
  if (!prlimit) return [];
  // The second is the hard limit: ffmpeg sets the same two itself, and may not go beyond.
  const cpu = cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + 1}`];
  return [prlimit, `--data=${dataBytes}`, `--nofile=${openFiles}`, '--fsize=0', '--core=0', ...cpu, '--'];
}

/** Tried once for each program and folder. */
function offTheNet(program: string, reads: string): string[] {
  const key = JSON.stringify([program, path.dirname(reads)]);
  const known = probed.get(key);
  if (known) return known;
  const unshare = findProgram('unshare');
  const test = findProgram('test');
  const ways = unshare && test ? WAYS_OFF_THE_NET.map((options) => [unshare, ...options, '--']) : [];
  const way = ways.find(([tool = '', ...options]) => {
    const probe = [...options, test ?? '', '-x', program, '-a', '-r', reads];
    return spawnSync(tool, probe, { env: childEnvironment(), stdio: 'ignore', timeout: PROBE_MS }).status === 0;
  });
  probed.set(key, way ?? []);
  return way ?? [];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
