import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU seconds that a process, its children and those of theirs that have ended have taken so far (Linux). */
export function cpuSeconds(pid) {
  const ticks = familyOf(pid).reduce((sum, stat) => sum + stat.ticks, 0);
  return ticks / TICKS_PER_SECOND;
}

/** CPU seconds that those of a process and its living descendants have taken whose command and number fit. */
export function cpuSecondsBy(pid, fits) {
  const family = familyOf(pid).filter((stat) => fits(commandOf(stat.pid), stat.pid));
  return family.reduce((sum, stat) => sum + stat.ownTicks, 0) / TICKS_PER_SECOND;
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

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const sumOf = (from, to) => fields.slice(from, to).reduce((sum, field) => sum + Number(field), 0);
    return { pid: Number(pid), parent: Number(fields[1]), ticks: sumOf(11, 15), ownTicks: sumOf(11, 13) };
  } catch {
    return null;
  }
}
