import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Env } from '../../../../platform/config/env.js';
import { type EngineChoice, readEngineChoices } from './engine-choice.js';
import { EngineRuntime } from './engine-runtime.js';
import { type EngineRoute, type RoutedAudio, routeOf } from './engine-route.js';
import type { EngineSelection } from './engine-selection.js';

/** By each recording, beside those that are being transcribed: one being cut, one waiting for a slot. */
const CHUNKS_HELD = 2;

/** Every engine of this process. They are created at boot, and start processes or connections when first needed. */
@Injectable()
export class EngineRuntimesService implements OnApplicationShutdown {
  /** Recordings that may be transcribed at the same time within TRANSCRIPTION_MEMORY_MB. */
  readonly maxRecordings: number;
  private readonly logger = new Logger(EngineRuntimesService.name);
  private readonly runtimes: ReadonlyMap<string, EngineRuntime>;
  private readonly chain: readonly EngineChoice[];

  constructor(env: Env, { chain, definitions }: EngineSelection) {
    this.chain = chain;
    const memory = env.transcriptionMemoryMb << 20;
    const runtimes = definitions.map((definition) => {
      const runtime = new EngineRuntime(definition.create(env), memory / definitions.length);
      return [definition.name, runtime] as const;
    });
    this.runtimes = new Map(runtimes);
    const { all } = this;
    const inSlots = all.reduce((sum, { queue, chunkBytes }) => sum + queue.slots * chunkBytes, 0);
    const held = CHUNKS_HELD * Math.max(...all.map(({ chunkBytes }) => chunkBytes));
    this.maxRecordings = Math.max(1, Math.floor((memory - inSlots) / held));
  }

  /** By which accounts and clients name them. */
  get names(): string[] {
    return [...this.runtimes.keys()];
  }

  /** Every engine. */
  get all(): EngineRuntime[] {
    return [...this.runtimes.values()];
  }

  /** Those that recordings of accounts without a chain of their own get. */
  get shared(): EngineRuntime[] {
    return [...new Set(this.chain.map(({ name }) => this.runtime(name)))];
  }

  runtime(name: string): EngineRuntime {
    const runtime = this.runtimes.get(name);
    if (!runtime) throw new Error(`no engine ${name} in this process`);
    return runtime;
  }

  /**
   * @param own the chain of the account as stored, or null.
   * @param requested the only engine to use, or null.
   * @throws AudioRejectedError
   */
  route(audio: RoutedAudio, own: unknown, requested: string | null): EngineRoute {
    const chain = requested === null ? (this.chainOf(own) ?? this.chain) : [{ name: requested }];
    return routeOf(chain, audio, (name) => this.runtimes.get(name)?.engine.languages);
  }

  /** Null when one of the shared engines works. For the readiness check. */
  async problem(): Promise<string | null> {
    return await commonProblem(this.shared, (runtime) => runtime.readinessProblem());
  }

  /** What is wrong with the first shared engine, or any other that a recording has needed. For the readiness check. */
  async degradation(): Promise<string | null> {
    const [first] = this.shared;
    const used = this.all.filter((runtime) => runtime.isWanted || runtime === first);
    const problems = await Promise.all(used.map((runtime) => runtime.readinessProblem()));
    const broken = problems.flatMap((problem, i) => (problem === null ? [] : `${used[i]?.engine.name}: ${problem}`));
    return broken.length > 0 ? broken.join('; ') : null;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.all.map(({ engine }) => engine.close()));
  }

  /** What cannot be read was written by another release. */
  private chainOf(own: unknown): EngineChoice[] | null {
    if (own === null || own === undefined) return null;
    try {
      return readEngineChoices(own);
    } catch (error) {
      this.logger.warn({ err: error }, 'engines of an account not understood');
      return null;
    }
  }
}

/** Null when any of them has none. In turn, because an engine may start processes to find out. */
export async function commonProblem(
  runtimes: readonly EngineRuntime[],
  problemOf: (runtime: EngineRuntime) => Promise<string | null>,
): Promise<string | null> {
  const problems: string[] = [];
  for (const runtime of runtimes) {
    const problem = await problemOf(runtime);
    if (problem === null) return null;
    problems.push(runtimes.length > 1 ? `${runtime.engine.name}: ${problem}` : problem);
  }
  return problems.join('; ');
}
