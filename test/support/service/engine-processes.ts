import { readFileSync } from 'node:fs';
import { descendantsOf } from './process-stats.js';

/** The engine's processes below a process, by their numbers, without those of bubblewrap around them. Linux only. */
export function engineProcesses(parent: number = process.pid, child = /pocketsphinx\.child/): number[] {
  // Not by their name, which is `node` before Node 24 and `MainThread` since.
  return descendantsOf(parent).filter(
    (pid) => /^[^\0]*node\0/.test(commandLineOf(pid)) && child.test(commandLineOf(pid)),
  );
}

/** Whether there is still such a process, other than as an entry that nobody has collected yet. */
export function isRunning(pid: number): boolean {
  return parentOf(pid) !== null;
}

/** The CPU time that a process has used, in hundredths of a second. */
export function cpuTime(pid: number): number {
  const fields = statOf(pid);
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

function parentOf(pid: number): number | null {
  const [state, parent] = statOf(pid);
  return state === undefined || state === 'Z' ? null : Number(parent);
}

/** The fields of `/proc/PID/stat` from the state on: the name before it, in parentheses, may hold spaces. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
