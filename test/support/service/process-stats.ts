/** What Linux tells about a process. Elsewhere there is no /proc: all figures are 0, and bounds on them hold. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** USER_HZ, which is 100 on every machine that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Bytes of memory that the process has, and the most that it ever had, or had since {@link forgetPeak}. */
export function memoryOf(pid: number): { resident: number; peak: number } {
  const status = read(`/proc/${pid}/status`);
  const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { resident: of('VmRSS'), peak: of('VmHWM') };
}

export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Not Linux, or not allowed: then the peak is that of its whole life.
  }
}

/** Where they stand in /proc/PID/stat (proc(5)), counted from behind the command's name. */
const STATE = 0;
const PARENT = 1;
const UTIME = 11;

/** Descendants of the process that run this program: bubblewrap may stand between them. */
export function childrenOf(pid: number, program: string): number[] {
  return descendantsOf(pid).filter((child) => programOf(child) === program);
}

/** The engine's processes below a process, without those of bubblewrap around them. */
export function engineProcesses(parent: number = process.pid, child = /pocketsphinx\.child/): number[] {
  return descendantsOf(parent).filter((pid) => {
    // Not by their name, which is `node` before Node 24 and `MainThread` since.
    const commandLine = read(`/proc/${pid}/cmdline`);
    return /^[^\0]*node\0/.test(commandLine) && child.test(commandLine);
  });
}

function descendantsOf(pid: number): number[] {
  const all = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  const parents = new Map(all.map((child) => [Number(child), parentOf(Number(child))]));
  const isDescendant = (child: number): boolean => {
    const parent = parents.get(child);
    return parent !== undefined && (parent === pid || isDescendant(parent));
  };
  return [...parents.keys()].filter(isDescendant);
}

/** Whether there is still such a process, other than as an entry that nobody has collected yet. */
export function isRunning(pid: number): boolean {
  const state = statOf(pid)[STATE];
  return state !== undefined && state !== 'Z';
}

/** The CPU time that a process has used. */
export function cpuSecondsOf(pid: number): number {
  const [user = 0, system = 0] = statOf(pid)
    .slice(UTIME, UTIME + 2)
    .map(Number);
  return (user + system) / TICKS_PER_SECOND;
}

/** What descendants with a program took, by the one that took most. */
interface Taken {
  /** Bytes of memory. */
  peak: number;
  /** Bubblewrap does not wait for its process, so that its CPU time never becomes that of an ended child. */
  cpuSeconds: number;
}

/** What the descendants with this program take until `stop` is called. */
export function watchChildren(pid: number, program: string): { stop: () => Taken } {
  const taken = { peak: 0, cpuSeconds: 0 };
  const look = (parent: number): void => {
    // Looking at every process of the machine would cost milliseconds.
    for (const child of read(`/proc/${parent}/task/${parent}/children`).split(' ').filter(Boolean).map(Number)) {
      if (programOf(child) === program) {
        taken.peak = Math.max(taken.peak, memoryOf(child).peak);
        taken.cpuSeconds = Math.max(taken.cpuSeconds, cpuSecondsOf(child));
      } else look(child);
    }
  };
  const timer = setInterval(() => look(pid), 15).unref();
  return {
    stop: () => {
      clearInterval(timer);
      return taken;
    },
  };
}

const parentOf = (pid: number): number => Number(statOf(pid)[PARENT]);
const programOf = (pid: number): string => read(`/proc/${pid}/comm`).trim();

function statOf(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`);
  // The name before, in parentheses, may hold spaces.
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
