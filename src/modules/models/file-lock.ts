import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pause } from '../../platform/concurrency/retry.js';
import { errorCode, ignoreAbsent, isRunning } from '../../platform/storage/file-system.js';

/** The holder shows that it lives by the file's time. */
const RENEW_MS = 5000;
/** A holder on another machine, or in another container, that has not renewed for so long is gone. */
const EXPIRES_MS = 60_000;
const POLL_MS = 200;

interface Holder {
  host: string;
  pid: number;
  /** Tells it from a later process of the same number; null where the system does not say. */
  started: string | null;
}

/**
 * Runs `work` while no other process holds the lock. A holder that has ended, or was on another machine and is silent for
 * a minute, loses it.
 * @param onWait called once when another process has it
 */
export async function withFileLock<T>(
  file: string,
  { signal, onWait }: { signal: AbortSignal; onWait: (holder: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  await mkdir(path.dirname(file), { recursive: true });
  for (let told = false; !(await take(file)); told = true) {
    if (!told) onWait(await describeHolder(file));
    await pause(POLL_MS, signal);
  }
  const renewal = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), RENEW_MS);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await rm(file, { force: true });
  }
}

/** A link appears with its content at once; a file that is created and then written does not. */
async function take(file: string): Promise<boolean> {
  const own = `${file}.${randomUUID()}`;
  const holder: Holder = { host: os.hostname(), pid: process.pid, started: startOf(process.pid) };
  await writeFile(own, JSON.stringify(holder));
  try {
    if (await linkUnlessThere(own, file)) return true;
    const seen = await readIfAny(file);
    if (seen === null || !(await isStale(file, seen))) return false;
    // Two processes may see the same stale lock: who moved away a newer one puts it back.
    const aside = `${own}.stale`;
    await rename(file, aside).catch(ignoreAbsent);
    if ((await readIfAny(aside)) !== seen) await linkUnlessThere(aside, file).catch(ignoreAbsent);
    await rm(aside, { force: true });
    return await linkUnlessThere(own, file);
  } finally {
    await rm(own, { force: true });
  }
}

async function linkUnlessThere(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function isStale(file: string, content: string): Promise<boolean> {
  const facts = await stat(file).catch(() => null);
  if (facts === null) return false;
  const holder = parseHolder(content);
  if (holder === null || holder.host !== os.hostname()) return Date.now() - facts.mtimeMs > EXPIRES_MS;
  return !isRunning(holder.pid) || startOf(holder.pid) !== holder.started;
}

async function describeHolder(file: string): Promise<string> {
  const holder = parseHolder((await readIfAny(file)) ?? '');
  return holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
}

function parseHolder(content: string): Holder | null {
  try {
    const { host, pid, started } = JSON.parse(content) as Partial<Holder>;
    return typeof host === 'string' && typeof pid === 'number' ? { host, pid, started: started ?? null } : null;
  } catch {
    return null;
  }
}

/** Clock ticks from the start of the machine to that of the process: field 22 of /proc/PID/stat, on Linux. */
function startOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name in parentheses may hold spaces.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

async function readIfAny(file: string): Promise<string | null> {
  return await readFile(file, 'utf8').catch(ignoreAbsent);
}
