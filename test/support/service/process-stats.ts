/** What Linux tells about a process. Elsewhere there is no /proc: all figures are 0, and bounds on them hold. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

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

/** CPU seconds of the process's children that have ended. */
export function cpuSecondsOfEndedChildren(pid: number): number {
  const [userTicks = 0, systemTicks = 0] = statOf(pid)
    .slice(CUTIME, CUTIME + 2)
    .map(Number);
  return (userTicks + systemTicks) / TICKS_PER_SECOND;
}

/** Where `cutime` stands in /proc/PID/stat (proc(5)), counted from behind the command's name. */
const CUTIME = 13;
const PARENT = 1;

/** Descendants of the process that run this program: bubblewrap may stand between them. */
export function childrenOf(pid: number, program: string): number[] {
  return descendantsOf(pid).filter((child) => programOf(child) === program);
}

export function descendantsOf(pid: number): number[] {
  const parents = new Map(processes().map((child) => [child, parentOf(child)]));
  const isDescendant = (child: number): boolean => {
    const parent = parents.get(child);
    return parent !== undefined && (parent === pid || isDescendant(parent));
  };
  return [...parents.keys()].filter(isDescendant);
}

/** The largest peak of memory, in bytes, that any descendant with this program is seen with until `stop` is called. */
export function watchChildren(pid: number, program: string): { stop: () => { peak: number; seen: number } } {
  const family = new Set([pid]);
  // Looking at every process of the machine costs milliseconds: those of others are looked at once.
  const others = new Set<number>();
  const seen = new Set<number>();
  let peak = 0;
  const timer = setInterval(() => {
    for (const process of processes()) {
      if (others.has(process) || process === pid) continue;
      if (!family.has(process)) (family.has(parentOf(process)) ? family : others).add(process);
      if (!family.has(process) || programOf(process) !== program) continue;
      seen.add(process);
      peak = Math.max(peak, memoryOf(process).peak);
    }
  }, 15).unref();
  return {
    stop: () => {
      clearInterval(timer);
      return { peak, seen: seen.size };
    },
  };
}

function processes(): number[] {
  return list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

const parentOf = (pid: number): number => Number(statOf(pid)[PARENT]);
const programOf = (pid: number): string => read(`/proc/${pid}/comm`).trim();

function statOf(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
