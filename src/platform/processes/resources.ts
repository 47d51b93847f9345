import { readFileSync } from 'node:fs';
import os from 'node:os';

/** Memory of the machine, or of the container if that may take less. */
export function availableBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, os.totalmem()) : os.totalmem();
}

/** USER_HZ is 100 on every Linux platform that Node supports. */
const TICKS_PER_SECOND = 100;

/**
 * CPU seconds of a process, of its descendants, and of those that have ended and were waited for (proc(5), fields 14 to 17).
 * Null without /proc, or after the end of the process.
 */
export function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 2 is the name in parentheses, which may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return childrenOf(pid).reduce((sum, child) => sum + (cpuSecondsOf(child) ?? 0), ticks / TICKS_PER_SECOND);
  } catch {
    return null;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
