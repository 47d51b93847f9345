import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU seconds that a process, its children and those of theirs that have ended have taken so far (Linux). */
export function cpuSeconds(pid) {
  const ticks = familyOf(pid).reduce((sum, stat) => sum + stat.ticks, 0);
  return ticks / TICKS_PER_SECOND;
}

/** Resident memory in MB of a process, its children and theirs, those below 10 MB left out. */
export function residentMb(pid) {
  return familyOf(pid)
    .map((stat) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${stat.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
    .map((mb) => Math.round(mb))
    .filter((mb) => mb >= 10);
}

function familyOf(pid) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(readStat)
    .filter((stat) => stat !== null);
  const family = new Set([pid]);
  // Children mostly come after their parents, but numbers are used again.
  for (let before = 0; before < family.size;) {
    before = family.size;
    for (const stat of all) if (family.has(stat.parent)) family.add(stat.pid);
  }
  return all.filter((stat) => family.has(stat.pid));
}

function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { pid: Number(pid), parent: Number(fields[1]), ticks };
  } catch {
    return null;
  }
}
