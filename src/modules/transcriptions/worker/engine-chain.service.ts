import { Injectable, Logger } from '@nestjs/common';
import { Counter, Histogram, Registry } from 'prom-client';
import { Env } from '../../../platform/config/env.js';
import { traces } from '../../../platform/observability/traces/traces.js';
import { type Lease, spokenKey } from '../../recordings/leases/recording-leases.service.js';
import { decoderProblem } from '../audio/decoder.js';
import { type EngineChoice, takenLanguages } from '../engines/engine-choice.js';
import { EngineFailureError, NoEngineError } from '../engines/engine-failures.js';
import type { EngineRuntime } from '../engines/engine-runtimes.service.js';
import { commonProblem, EngineRuntimesService } from '../engines/engine-runtimes.service.js';
import { Postponements } from '../engines/postponed-recordings.js';
import { AudioRejectedError, EngineError, EngineUnavailableError } from '../engines/transcription-engine.js';
import { type AudioInput, TranscriberService, type TranscriptionResult } from './transcriber.service.js';

/** Between two checks of an engine that reports a problem. */
const CHECK_SECONDS = 5;
/** Between two claims of recordings whose engines this process does not have. */
const MISSING_SECONDS = 60;

/** A result, and the engine that it is from. */
export interface ChainResult extends TranscriptionResult {
  provider: string;
  model: string;
}

/** What is transcribed, but for what differs between engines. */
export type ChainInput = Omit<AudioInput, 'maxSeconds' | 'onText'> & {
  /** As in AudioInput. Another engine starts the text again. */
  onText: (chunk: { offset: number; text: string }, engine: { name: string; model: string }) => void;
};

interface Candidate {
  choice: EngineChoice;
  runtime: EngineRuntime;
}

/** The engines to try for a recording, in order; the first has no problem now. */
interface Candidates {
  inOrder: readonly Candidate[];
  /** What is wrong with those before them. */
  problems: readonly string[];
}

type EngineFields = Pick<Lease, 'accountId' | 'accountEngines' | 'language' | 'durationMs' | 'faults'> & {
  languages?: readonly string[] | null;
  translate?: boolean;
};

/** Tries the engines of a recording in the order of its chain. */
@Injectable()
export class EngineChainService {
  /** Recordings that this process does not claim for a while. */
  readonly postponements = new Postponements();
  private readonly logger = new Logger(EngineChainService.name);
  private readonly failures = new Counter({
    name: 'transcription_engine_failures_total',
    help: 'Recordings that an engine could not take or refused, so that the next engine of the chain is tried.',
    labelNames: ['engine'],
    registers: [],
  });
  private readonly fallbacks = new Counter({
    name: 'transcription_fallbacks_total',
    help: 'Recordings transcribed by an engine that is not the first of their chain, by that engine.',
    labelNames: ['engine'],
    registers: [],
  });
  private readonly speed = new EngineSpeed();

  constructor(
    private readonly runtimes: EngineRuntimesService,
    private readonly transcriber: TranscriberService,
    private readonly env: Env,
    registry: Registry,
  ) {
    for (const metric of [this.failures, this.fallbacks, ...this.speed.metrics]) registry.registerMetric(metric);
  }

  /**
   * @param requested the only engine to use, or null.
   * @throws AudioRejectedError when no engine takes the language; NoEngineError when none can work now. Then this process
   *   claims no such recordings for a while.
   */
  async candidatesFor(recording: EngineFields, requested: string | null = null): Promise<Candidates> {
    const { accountId, accountEngines, language, languages, translate, durationMs, faults } = recording;
    const audio = { language, languages, translate, seconds: durationMs > 0 ? durationMs / 1000 : null, faults };
    const { choices, missing, dependsOnLength } = this.runtimes.route(audio, accountEngines, requested);
    const all = choices.map((choice) => ({ choice, runtime: this.runtimes.runtime(choice.name) }));
    const problems: string[] = [];
    let onTrial: Candidate | null = null;
    for (const [index, candidate] of all.entries()) {
      // In turn, because an engine may start processes to find out.
      const problem = await problemOf(candidate);
      if (problem === null && !candidate.runtime.breaker.isOnTrial) return { inOrder: all.slice(index), problems };
      if (problem === null) onTrial ??= candidate;
      problems.push(problem ?? `${candidate.choice.name}: another recording tries it`);
    }
    if (onTrial) return { inOrder: [onTrial], problems };
    const wait = all.length > 0 ? shortestWait(all) : MISSING_SECONDS;
    const minDurationMs = dependsOnLength ? durationMs : 0;
    if (requested === null) this.postponements.add({ accountId, spoken: spokenKey(recording), minDurationMs }, wait);
    const absent = missing.map((name) => `${name}: not configured in this process`);
    if (all.length === 0) this.logger.warn({ account_id: accountId, engines: missing }, 'engines not configured here');
    throw new NoEngineError([...problems, ...absent].join('; '), wait, requested !== null);
  }

  /** Seconds, without an engine. @throws what the decoder throws. */
  async measure(audio: Parameters<TranscriberService['measure']>[0]): Promise<number> {
    return await this.transcriber.measure(audio);
  }

  /**
   * @throws what TranscriberService throws of the decoder, and of the last engine; NoEngineError when the recording has to
   *   wait for an engine.
   */
  async transcribe({ inOrder, problems }: Candidates, audio: ChainInput): Promise<ChainResult> {
    const waitedFor = [...problems];
    let last: Error | null = null;
    for (const [index, candidate] of inOrder.entries()) {
      const problem = index === 0 ? null : await problemOf(candidate);
      if (problem !== null) {
        waitedFor.push(problem);
        continue;
      }
      if (last)
        this.logger.warn({ err: last, engine: candidate.choice.name }, 'transcription goes on with another engine');
      const outcome = await this.transcribeWith(candidate, audio);
      if (!(outcome instanceof Error)) {
        if (index > 0 || problems.length > 0) this.fallbacks.inc({ engine: outcome.provider });
        return outcome;
      }
      last = outcome;
      if (candidate.runtime.breaker.refusal !== null) waitedFor.push(`${candidate.choice.name}: ${last.message}`);
    }
    // An engine that was not asked may take what the others refuse.
    if (waitedFor.length > 0 || !last) throw new NoEngineError(waitedFor.join('; '), shortestWait(inOrder), true);
    throw last;
  }

  /** Null when a recording of an account without engines of its own may be claimed; otherwise what is missing. */
  async problem(): Promise<string | null> {
    return (
      (await this.decodingProblem()) ?? (await commonProblem(this.runtimes.shared, (runtime) => runtime.problem()))
    );
  }

  /** Null when any recording may be claimed, if its engine works. */
  async decodingProblem(): Promise<string | null> {
    return await decoderProblem(this.env.sandbox);
  }

  /** @returns the error of the engine where another engine may help. */
  private async transcribeWith({ choice, runtime }: Candidate, audio: ChainInput): Promise<ChainResult | Error> {
    const { engine } = runtime;
    const onText: AudioInput['onText'] = (text) => audio.onText(text, engine);
    const languages = audio.languages && takenLanguages(choice, engine.languages, audio.languages);
    const input = { ...audio, languages, maxSeconds: choice.maxSeconds, onText };
    const startedAt = performance.now();
    try {
      const attributes = { 'voice_notes.engine': engine.name, 'voice_notes.model': engine.model };
      const result = await traces.span('engine', attributes, () =>
        runtime.breaker.try(() => this.transcriber.transcribe(input, runtime)),
      );
      this.speed.record(engine.name, (performance.now() - startedAt) / 1000, result.durationSeconds);
      return { ...result, provider: engine.name, model: engine.model };
    } catch (error) {
      if (audio.signal.aborted || !(error instanceof EngineFailureError)) throw error;
      const { original } = error;
      // The recording may be the cause: then the same engine repeats it.
      if (isAudioSuspected(original)) throw original;
      if (await isOutage(runtime, original)) runtime.setAside(original.message);
      this.failures.inc({ engine: engine.name });
      return original;
    }
  }
}

/** How long engines take for their audio, decoding and the wait for a free process included. */
class EngineSpeed {
  private readonly factor = new Histogram({
    name: 'transcription_real_time_factor',
    help: 'Seconds that a recording took, for each second of its audio, by engine.',
    labelNames: ['engine'],
    buckets: [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10],
    registers: [],
  });
  private readonly audio = new Counter({
    name: 'transcription_audio_seconds_total',
    help: 'Seconds of audio transcribed, by engine.',
    labelNames: ['engine'],
    registers: [],
  });
  private readonly taken = new Counter({
    name: 'transcription_processing_seconds_total',
    help: 'Seconds that these recordings took, by engine.',
    labelNames: ['engine'],
    registers: [],
  });
  readonly metrics = [this.factor, this.audio, this.taken];

  record(engine: string, seconds: number, audioSeconds: number): void {
    if (!(audioSeconds > 0)) return;
    this.factor.observe({ engine }, seconds / audioSeconds);
    this.audio.inc({ engine }, audioSeconds);
    this.taken.inc({ engine }, seconds);
  }
}

function isAudioSuspected(error: Error): boolean {
  if (error instanceof AudioRejectedError) return false;
  return !(error instanceof EngineError) || error.audioSuspected;
}

/** Whether the engine fails for all recordings. One that rejects this audio works. */
async function isOutage(runtime: EngineRuntime, error: Error): Promise<boolean> {
  if (error instanceof AudioRejectedError) return false;
  return error instanceof EngineUnavailableError || (await runtime.problem()) !== null;
}

async function problemOf({ choice, runtime }: Candidate): Promise<string | null> {
  runtime.isWanted = true;
  const problem = await runtime.problem();
  return problem === null ? null : `${choice.name}: ${problem}`;
}

function shortestWait(candidates: readonly { runtime: EngineRuntime }[]): number {
  const waits = candidates.map(({ runtime }) => runtime.breaker.waitSeconds).filter((seconds) => seconds > 0);
  return waits.length > 0 ? Math.min(...waits) : CHECK_SECONDS;
}
