import { readFileSync } from 'node:fs';

/** USER_HZ is 100 on every Linux platform that Node supports. */
const TICKS_PER_SECOND = 100;

/**
 * CPU seconds of this process, of its descendants and of those of them that have ended (proc(5), fields 14 to 17). Without
 * /proc null: then only that of this process is known, and engines work in children.
 */
export function cpuSecondsOfAll(pid: number | 'self' = 'self'): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 2 is the name in parentheses, which may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    const own = ticks / TICKS_PER_SECOND;
    const id = pid === 'self' ? process.pid : pid;
    return childrenOf(id).reduce((sum, child) => sum + (cpuSecondsOfAll(child) ?? 0), own);
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
