import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Piscina } from 'piscina';
import { FairQueue } from './fair-queue.js';
import { ServiceUnavailableError } from '../errors/errors.js';

/** A function that reads nothing but its input, so that a thread can call it as well. */
export interface ThreadTask<Input, Output> {
  run: (input: Input) => Output;
  /** The built module that exports the function under its name, from the root of `src`, with the ending `.js`. */
  module: string;
}

/**
 * Built files, even when this one runs from source: Node cannot start TypeScript, and Jest turns modules into CommonJS.
 * The package root is three folders up from both src and dist.
 */
const DIST = fileURLToPath(new URL('../../../dist/', import.meta.url));

const THREADS = Math.max(1, availableParallelism() - 1);
/** Threads that nobody needed for this long end, and give their memory back. */
const IDLE_MS = 60_000;
/** Many times what the largest input takes. */
const TIME_LIMIT_MS = 60_000;
const MEMORY_MB = 512;
/** What a turn of the event loop can do in about 20 ms: characters of text, of which each is looked at several times. */
const INLINE_COST = 2000;

/** What work on a transcript costs. A word's JSON has about 40 characters, and most of them are only parsed. */
export function costOfText(text: string, ...json: string[]): number {
  return text.length + json.reduce((sum, { length }) => sum + length, 0) / 40;
}

/**
 * Keeps work that grows with its input off the event loop, where it would hold up every other request (D60): long inputs
 * go to threads, which accounts share fairly, short ones are done at once.
 */
@Injectable()
export class ThreadPoolService implements OnApplicationShutdown {
  private readonly logger = new Logger(ThreadPoolService.name);
  private readonly turns = new FairQueue(THREADS);
  private pool: Promise<Piscina> | undefined;

  /**
   * @param accountId whose turn it is among the accounts that wait
   * @param cost of the work, from `costOfText`
   * @param input strings rather than objects: an object is copied property by property, here and in the thread
   * @throws ServiceUnavailableError when a thread ended, ran out of memory or takes too long; what the function throws
   */
  async run<Input, Output>(
    accountId: string,
    task: ThreadTask<Input, Output>,
    input: Input,
    cost: number,
  ): Promise<Output> {
    if (cost <= INLINE_COST) return task.run(input);
    const turn = this.turns.join(accountId);
    try {
      return await turn.run(() => this.runInThread(task, input), cost);
    } finally {
      turn.leave();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await (await this.pool)?.destroy();
  }

  private async runInThread<Input, Output>({ run, module }: ThreadTask<Input, Output>, input: Input): Promise<Output> {
    this.pool ??= startPool();
    const pool = await this.pool;
    const signal = AbortSignal.timeout(TIME_LIMIT_MS);
    try {
      return (await pool.run(input, { filename: path.join(DIST, module), name: run.name, signal })) as Output;
    } catch (error) {
      this.logger.error({ err: error, task: run.name }, 'work in a thread failed');
      throw new ServiceUnavailableError();
    }
  }
}

/** Loaded with the first long text: most processes never have one. */
async function startPool(): Promise<Piscina> {
  // The class itself, whatever its types say of the CommonJS module.
  const { default: Pool } = (await import('piscina')) as unknown as { default: typeof Piscina };
  return new Pool({
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    // Without the flags of this process, such as a debugger port or a test loader, and without its environment.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
}
