import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { FairQueue } from '../../../platform/concurrency/fair-queue.js';
import { Env } from '../../../platform/config/env.js';
import { BYTES_PER_SECOND } from '../audio/pcm.js';
import { CircuitBreaker } from './circuit-breaker.js';
import { type EngineChoice, type EngineRoute, readEngineChoices, type RoutedAudio, routeOf } from './engine-choice.js';
import { ENGINE_SELECTION, type EngineSelection } from './engine-registry.js';
import type { TranscriptionEngine } from './transcription-engine.js';

/** Longer chunks would make other accounts wait longer for their turn, and take more memory. */
const MAX_CHUNK_SECONDS = 120;

/** An engine of this process, the queue for its slots, and whether it works. */
export class EngineRuntime {
  readonly breaker = new CircuitBreaker();
  private readonly logger = new Logger(EngineRuntime.name);
  readonly maxChunkSeconds: number;
  readonly queue: FairQueue;
  /** Whether a recording was to be given to it. */
  isWanted = false;

  /** @param memoryBytes for decoded audio, of which the chunks in its slots may take half. */
  constructor(
    readonly engine: TranscriptionEngine,
    memoryBytes: number,
  ) {
    this.maxChunkSeconds = Math.min(engine.maxChunkSeconds, MAX_CHUNK_SECONDS);
    this.queue = new FairQueue(
      Math.max(1, Math.min(engine.concurrency, Math.floor(memoryBytes / 2 / this.chunkBytes))),
    );
  }

  get chunkBytes(): number {
    return this.maxChunkSeconds * BYTES_PER_SECOND;
  }

  /** Takes no recordings for now. */
  setAside(cause: string): void {
    if (this.breaker.cause === null)
      this.logger.error({ engine: this.engine.name, cause }, 'transcription engine set aside');
    this.breaker.open(cause);
  }

  /** Called after each transcribed chunk. */
  succeeded(): void {
    if (this.breaker.cause !== null) this.logger.log({ engine: this.engine.name }, 'transcription engine works again');
    this.breaker.close();
  }

  /** Null when recordings may be given to it; otherwise what is wrong and how to fix it, for the operator. */
  async problem(): Promise<string | null> {
    return this.breaker.refusal ?? (await this.engine.problem());
  }

  /** The same, until a chunk was transcribed again. */
  async readinessProblem(): Promise<string | null> {
    return this.breaker.cause ?? (await this.engine.problem());
  }
}

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

  constructor(env: Env, @Inject(ENGINE_SELECTION) { chain, definitions }: EngineSelection) {
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

  /** Of the engines that translate now. */
  get translating(): string[] {
    return this.names.filter((name) => this.runtime(name).engine.translates);
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
    return routeOf(
      chain,
      audio,
      (name) => this.runtimes.get(name)?.engine.languages,
      (name) => this.runtimes.get(name)?.engine.translates === true,
    );
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
