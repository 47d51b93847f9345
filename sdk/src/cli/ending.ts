/** How the process ends: on a signal, on a reader that has gone, and at its own wish. */
import { EXIT } from './exit-codes.js';

type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** As a shell reports a process that the signal ended: 128 and its number. */
const CODES: Record<Signal, number> = { SIGHUP: 129, SIGINT: EXIT.interrupted, SIGTERM: 143 };

const steps = new Set<() => Promise<void> | void>();
let interruptHandler: (() => void) | null = null;
let isEnding = false;

/** Registers what a signal must not leave undone. @returns a function that takes it back */
export function beforeEnd(step: () => Promise<void> | void): () => void {
  steps.add(step);
  return () => steps.delete(step);
}

/** Ctrl-C calls `handler` instead of ending the process. @returns a function that takes it back */
export function onInterrupt(handler: () => void): () => void {
  interruptHandler = handler;
  return () => {
    interruptHandler = null;
  };
}

export async function endProcess(code: number): Promise<never> {
  // A second signal ends the process at once.
  if (isEnding) process.exit(code);
  isEnding = true;
  await Promise.allSettled([...steps].map(async (step) => await step()));
  process.exit(code);
}

export function handleSignals(): void {
  for (const signal of Object.keys(CODES) as Signal[]) {
    process.on(signal, () => {
      if (signal === 'SIGINT' && interruptHandler) interruptHandler();
      else void endProcess(CODES[signal]);
    });
  }
  // `vnotes list | head`: nobody reads on.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      void endProcess(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure);
    });
  }
}
