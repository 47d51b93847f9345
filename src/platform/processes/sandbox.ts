import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import {
  type Command,
  findProgram,
  type IsolationLevel,
  killAll,
  type Sandbox,
  startWrapped,
  type Streams,
  wrapperOf,
} from './wrappers.js';

/** SANDBOX=required and bubblewrap cannot be used. The message is for an operator. */
export class SandboxUnavailableError extends Error {
  override readonly name = 'SandboxUnavailableError';
}

/**
 * Starts a command with resource limits and, as far as SANDBOX and the machine allow, apart from everything else.
 * @returns the child, once it runs. Its process id may be that of bubblewrap; see {@link endOf}.
 * @throws SandboxUnavailableError; the error of spawn
 */
export async function spawnSandboxed(command: Command, sandbox: Sandbox, streams: Streams): Promise<ChildProcess> {
  const child = startWrapped(command, sandbox, await isolationFor(command, sandbox), streams);
  await once(child, 'spawn');
  return child;
}

/** Whether the output is an error of the wrappers, which could not start the program. */
export function failedToStart(stderr: string): boolean {
  return /^(bwrap|unshare|prlimit): /.test(stderr);
}

/** Reversed, so that SIGABRT comes after its other name, SIGIOT. */
const SIGNALS = new Map(
  Object.entries(os.constants.signals)
    .map(([name, number]) => [number, name] as const)
    .toReversed(),
);

/** The exit code, or the name of the signal that ended the program: bubblewrap reports a signal as 128 and its number. */
export function endOf(code: number | null, signal: string | null): number | string | null {
  return signal ?? SIGNALS.get((code ?? 0) - 128) ?? code;
}

/** Enough for the last few messages of a program. */
const TAIL_BYTES = 2_048;

/**
 * Keeps the end of what a child process writes to its standard error, for error messages.
 * @returns a function that reads it.
 */
export function keepStderrTail(stderr: Readable | null): () => string {
  let tail = Buffer.alloc(0);
  stderr?.on('data', (data: Buffer) => {
    tail = Buffer.concat([tail, data]).subarray(-TAIL_BYTES);
  });
  return () => tail.toString('utf8');
}

interface CachedLevel {
  level: IsolationLevel;
  /** Milliseconds since 1970. */
  validUntil: number;
}

interface ProbeResult {
  works: boolean;
  reason: string;
  slow?: boolean;
}

const LEVELS = ['bubblewrap', 'namespaces', 'network'] as const;
/** Typical: 10 ms. A machine that is too busy for the first may manage the second or third. */
const PROBE_LIMITS_MS = [2_000, 4_000, 8_000];
/** A weaker level than bubblewrap is used this long, and less if only slowness spoke against a stronger one. */
const RECHECK_MS = 60_000;
const SLOW_RECHECK_MS = 5_000;

const logger = new Logger('Sandbox');
const cachedLevels = new Map<string, Promise<CachedLevel>>();
const levels = new Map<string, IsolationLevel>();

/**
 * The strongest level at which this program can read these files on this machine: bubblewrap and util-linux may be
 * missing, and containers may not permit namespaces.
 * @throws SandboxUnavailableError
 */
export async function isolationFor(command: Command, sandbox: Sandbox): Promise<IsolationLevel> {
  if (sandbox.mode === 'off') return report(command, 'none', 'SANDBOX=off');
  const key = `${sandbox.mode} ${command.program} ${ownerOf(sandbox.reads[0])}`;
  const known = await cachedLevels.get(key)?.catch(() => null);
  if (known && Date.now() < known.validUntil) return known.level;
  const search = find(command, sandbox);
  cachedLevels.set(key, search);
  return (await search).level;
}

/** After a start that failed, the next one probes again. */
export function forgetIsolation(): void {
  cachedLevels.clear();
}

/** The level of each program that was started, by its name. */
export function isolationLevels(): ReadonlyMap<string, IsolationLevel> {
  return levels;
}

async function find(command: Command, sandbox: Sandbox): Promise<CachedLevel> {
  const reasons: string[] = [];
  let slow = false;
  for (const level of sandbox.mode === 'required' ? (['bubblewrap'] as const) : LEVELS) {
    const result = await probeWithRetries(command, sandbox, level);
    if (result.works) {
      report(command, level, reasons[0]);
      return {
        level,
        validUntil: level === 'bubblewrap' ? Infinity : Date.now() + (slow ? SLOW_RECHECK_MS : RECHECK_MS),
      };
    }
    slow ||= result.slow === true;
    reasons.push(result.reason);
  }
  if (sandbox.mode === 'required') throw unavailable(command, reasons[0] ?? '');
  report(command, 'none', reasons[0]);
  return { level: 'none', validUntil: Date.now() + (slow ? SLOW_RECHECK_MS : RECHECK_MS) };
}

async function probeWithRetries(command: Command, sandbox: Sandbox, level: IsolationLevel): Promise<ProbeResult> {
  let result: ProbeResult = { works: false, reason: '' };
  for (const limitMs of PROBE_LIMITS_MS) {
    result = await probe(command, sandbox, level, limitMs);
    if (!result.slow) break;
  }
  return result;
}

/** Runs `test` in place of the program, with the same limits: does the program exist there, and are its files readable? */
async function probe(
  { program }: Command,
  { limits, reads, calls, mode }: Sandbox,
  level: IsolationLevel,
  limitMs: number,
): Promise<ProbeResult> {
  const test = findProgram('test');
  if (!test || !path.isAbsolute(wrapperOf(level)))
    return { works: false, reason: `${wrapperOf(level)} is not installed` };
  const args = ['-x', program, ...reads.flatMap((file) => ['-a', '-r', file])];
  const sandbox: Sandbox = { mode, limits, calls, reads: [...reads, program] };
  const child = startWrapped({ program: test, args }, sandbox, level, ['ignore', 'ignore', 'pipe']);
  return await new Promise((resolve) => {
    let stderr = '';
    (child.stderr as Readable).on('data', (text: Buffer) => (stderr += text.toString('utf8')));
    const limit = setTimeout(() => {
      killAll(child);
      resolve({ works: false, reason: `no answer within ${limitMs} ms`, slow: true });
    }, limitMs);
    child.once('error', ({ message }) => resolve({ works: false, reason: message }));
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({
        works: code === 0,
        reason: stderr.trim().slice(0, 300) || `${path.basename(program)} cannot read its files`,
      });
    });
  });
}

function report({ program }: Command, level: IsolationLevel, reason?: string): IsolationLevel {
  const name = path.basename(program);
  if (levels.get(name) !== level) {
    const fields = { program: name, level, reason };
    if (level === 'bubblewrap') logger.log(fields, 'sandbox in use');
    else logger.warn(fields, 'sandbox in use is weaker than bubblewrap');
  }
  levels.set(name, level);
  return level;
}

function unavailable({ program }: Command, reason: string): SandboxUnavailableError {
  const name = path.basename(program);
  return new SandboxUnavailableError(
    `SANDBOX=required, but bubblewrap cannot isolate ${name}: ${reason}. ` +
      'Install the package bubblewrap and permit user namespaces, or set SANDBOX=auto.',
  );
}

/** Files of the same owner and mode are readable at the same levels. */
function ownerOf(file: string): string {
  const { uid, gid, mode } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${uid}:${gid}:${mode}`;
}
