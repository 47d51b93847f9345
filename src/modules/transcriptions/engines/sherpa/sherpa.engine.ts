import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { sharedRun } from '../../../../platform/concurrency/shared-run.js';
import type { Env } from '../../../../platform/config/env.js';
import { availableBytes } from '../../../../platform/processes/resources.js';
import { selectedModel } from '../../../models/installed-models.js';
import { ModelError, type ModelFolder, readModelFolder } from '../../../models/model-folder.js';
import { BYTES_PER_SECOND } from '../../audio/pcm.js';
import { ChildPool } from '../children/child-pool.js';
import { CHILD_READS, childFile, type ChildModule } from '../children/engine-child.js';
import {
  type AudioChunk,
  type ChunkTranscript,
  type EngineDefinition,
  EngineUnavailableError,
  type TranscribeOptions,
  type TranscriptionEngine,
} from '../transcription-engine.js';
import { knowsHotWords, sherpaSettings } from './sherpa-settings.js';
import { numberedTokens } from './whisper-tokens.js';

export type SherpaEnv = Pick<
  Env,
  'sherpaModel' | 'sherpaMemoryMb' | 'modelsFolder' | 'transcriptionConcurrency' | 'sandbox'
>;

const NAME = 'sherpa';
const ENGLISH = 'english';
/** Whisper's windows are 30 s, of which sherpa-onnx uses 29.5. Others were trained with less, too. */
const MAX_CHUNK_SECONDS = 29;
const MAX_VOCABULARY_TERMS = 15;
/** A chunk takes 0.05 to 2 s per second of audio. More than ten times that counts as a hang. */
const CHUNK_LIMIT = { baseMs: 60_000, perAudioSecondMs: 20_000 };
/** Kinds of models that say which language they have heard. */
const DETECTING: ReadonlySet<string> = new Set<ModelFolder['kind']>(['whisper', 'sense-voice']);
/** Kinds that can be told a language with each chunk (`SherpaRecogniser`). */
const TOLD: ReadonlySet<string> = new Set<ModelFolder['kind']>(['whisper', 'canary', 'cohere-transcribe']);
/** From a slow disk, and then a chunk of the longest length. */
const LOAD_LIMIT = { baseMs: 120_000, perGigabyteMs: 240_000 };
/** So long a broken folder is not read again. */
const RECHECK_MS = 10_000;

/** sherpa-onnx with the model of a folder: each recogniser in a process of its own, with one thread. Works offline. */
export class SherpaEngine implements TranscriptionEngine {
  readonly name = NAME;
  readonly model: string;
  readonly maxChunkSeconds = MAX_CHUNK_SECONDS;
  readonly concurrency: number;
  private readonly folder: string | null;
  private readonly folderProblem = sharedRun(async () => this.load(), RECHECK_MS);
  private loaded: ModelFolder | null = null;
  private pool: ChildPool | null = null;
  private tokens: TemporaryFile | null = null;

  constructor(private readonly env: SherpaEnv) {
    this.folder = modelFolder(env);
    this.model = path.basename(this.folder ?? NAME);
    this.load();
    const cores = os.availableParallelism();
    const wanted = Math.min(env.transcriptionConcurrency ?? cores, cores);
    const { processes } = memoryNeeds(this.loaded?.bytes ?? 0, env.sherpaMemoryMb);
    this.concurrency = Math.max(1, Math.min(wanted, processes));
  }

  get languages(): readonly string[] | 'any' {
    return this.loaded?.languages ?? 'any';
  }

  get defaultLanguage(): string {
    const { languages } = this;
    return languages === 'any' || languages.includes(ENGLISH) ? ENGLISH : (languages[0] ?? ENGLISH);
  }

  get detectsLanguage(): boolean {
    return this.loaded !== null && DETECTING.has(this.loaded.kind);
  }

  get ignoresLanguage(): boolean {
    return this.loaded !== null && !TOLD.has(this.loaded.kind);
  }

  get maxVocabularyTerms(): number {
    return this.loaded && knowsHotWords(this.loaded) ? MAX_VOCABULARY_TERMS : 0;
  }

  async transcribe({ pcm, speech }: AudioChunk, options: TranscribeOptions): Promise<ChunkTranscript> {
    const { signal, ...chunkOptions } = options;
    const problem = await this.modelProblem();
    if (problem !== null) throw new EngineUnavailableError(problem);
    const limitMs = CHUNK_LIMIT.baseMs + (pcm.length / BYTES_PER_SECOND) * CHUNK_LIMIT.perAudioSecondMs;
    return await this.processes().transcribe(pcm, limitMs, signal, { ...chunkOptions, speech });
  }

  async problem(): Promise<string | null> {
    return (await this.modelProblem()) ?? (await this.processes().problem());
  }

  async close(): Promise<void> {
    await this.pool?.close();
    this.tokens?.remove();
  }

  private async modelProblem(): Promise<string | null> {
    return this.loaded === null ? await this.folderProblem() : null;
  }

  /** Null when the folder holds a complete model. */
  private load(): string | null {
    if (this.folder === null) return NO_MODEL;
    try {
      const model = readModelFolder(this.folder);
      if (model.streaming) return `${this.folder} holds a streaming model: ${STREAMING}.`;
      this.loaded ??= model;
      return null;
    } catch (error) {
      if (error instanceof ModelError) return `${error.message}.`;
      throw error;
    }
  }

  private processes(): ChildPool {
    if (this.loaded === null) throw new Error('No model was read');
    this.pool ??= new ChildPool(this.childModule(this.loaded), this.concurrency, this.env.sandbox);
    return this.pool;
  }

  private childModule(model: ModelFolder): ChildModule {
    const languages = { defaultLanguage: this.defaultLanguage, maxSeconds: MAX_CHUNK_SECONDS };
    this.tokens = model.kind === 'whisper' ? new TemporaryFile(numberedTokens(model.files.tokens)) : null;
    const settings = sherpaSettings(model, languages, this.tokens?.path);
    const { bytes } = memoryNeeds(model.bytes, this.env.sherpaMemoryMb);
    return {
      file: childFile('engines/sherpa/sherpa'),
      args: [JSON.stringify(settings)],
      reads: [...model.reads, ...(this.tokens ? [this.tokens.path] : []), ...CHILD_READS],
      modelBytes: bytes,
      loadLimitMs: loadLimitMs(model),
      explain: (end, said) => this.load() ?? describeLoss(model.folder, bytes, end, said),
    };
  }
}

const STREAMING = 'it is for words while somebody speaks (LIVE_MODEL), not for SHERPA_MODEL';
const NO_MODEL = 'No model is selected: npm run models -- use NAME, or set SHERPA_MODEL.';

export function loadLimitMs({ bytes }: ModelFolder): number {
  return LOAD_LIMIT.baseMs + (bytes / 2 ** 30) * LOAD_LIMIT.perGigabyteMs;
}

/** The folder of the model in use; null when none was chosen. */
function modelFolder({ sherpaModel, modelsFolder }: Pick<Env, 'sherpaModel' | 'modelsFolder'>): string | null {
  const name = sherpaModel ?? selectedModel(modelsFolder);
  return name === null ? null : path.resolve(modelsFolder, name);
}

export const sherpaEngine: EngineDefinition = {
  name: NAME,
  create: (env) => new SherpaEngine(env),
  isConfigured: (env) => modelFolder(env) !== null,
  variables: 'SHERPA_MODEL, or a model chosen with npm run models -- use NAME',
  modelVariable: 'SHERPA_MODEL',
};

/** A file for child processes, in a folder of its own. It goes with this process, unless that is killed. */
class TemporaryFile {
  readonly path: string;
  private readonly removeAtExit = (): void => this.remove();

  constructor(content: string) {
    this.path = path.join(mkdtempSync(path.join(os.tmpdir(), 'voice-notes-')), 'file');
    writeFileSync(this.path, content, { mode: 0o600 });
    process.once('exit', this.removeAtExit);
  }

  remove(): void {
    process.off('exit', this.removeAtExit);
    rmSync(path.dirname(this.path), { recursive: true, force: true });
  }
}

const OUT_OF_MEMORY = /bad_alloc|allocate|out of memory|OOM|SIGKILL/i;
/** Lines that say nothing: what V8 and glibc add, and a complaint of onnxruntime about the missing /proc of the sandbox. */
const NOISE = /^(\s*at |terminate called|Node\.js v|\s*$|Aborted|Error in cpuinfo)/;
const MAX_LENGTH = 300;

/**
 * Why a process that was to load the model ended, for an operator.
 * @param end such as `ended by SIGABRT`
 */
export function describeLoss(folder: string, limitBytes: number, end: string, said: string): string {
  const last = lastLine(said);
  if (OUT_OF_MEMORY.test(`${end} ${said}`)) {
    return (
      `The model in ${folder} needs more memory than the ${Math.round(limitBytes / 2 ** 20)} MB allowed for it, or than ` +
      'the machine has: set SHERPA_MEMORY_MB, or use a smaller model.'
    );
  }
  return `The model in ${folder} cannot be loaded (${end}${last === '' ? '' : `: ${last}`}). Download it again.`;
}

function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => !NOISE.test(line));
  const [line = ''] = lines.slice(-1);
  const text = line.replace(/^\s*what\(\):\s*/, '').trim();
  // Where in its sources the library is comes first.
  return text.length > MAX_LENGTH ? `…${text.slice(-MAX_LENGTH)}` : text;
}

/** Share of the machine's memory for all processes of the engine together. */
const SHARE = 0.8;
/** onnxruntime holds the file and the weights made of it at the same time while it loads. */
const TIMES_FILES = 3;
const WORKING_BYTES = 512 * 2 ** 20;
/** Resident once it is loaded: the weights and what a chunk of audio takes. */
const RESIDENT_TIMES_FILES = 1.5;
const RESIDENT_BYTES = 200 * 2 ** 20;

interface MemoryNeeds {
  /** Private memory that a process may take for the model. */
  bytes: number;
  /** That fit into the machine's memory. */
  processes: number;
}

/** @param limitMb in place of the limit that follows from the size of the files */
export function memoryNeeds(fileBytes: number, limitMb: number | null, machineBytes = availableBytes()): MemoryNeeds {
  const bytes = limitMb === null ? WORKING_BYTES + TIMES_FILES * fileBytes : limitMb * 2 ** 20;
  const resident = RESIDENT_BYTES + RESIDENT_TIMES_FILES * fileBytes;
  return { bytes, processes: Math.max(1, Math.floor((SHARE * machineBytes) / resident)) };
}
