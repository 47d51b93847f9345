import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { isolationFor } from './isolation.js';
import { type Command, type Sandbox, startWrapped, type Streams } from './wrappers.js';

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
