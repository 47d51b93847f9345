import { open } from 'node:fs/promises';
import path from 'node:path';
import { FileWindow } from '../../modules/recordings/audio/file-window.js';
import { detectFormat, probeAudio } from '../../modules/recordings/audio/inspect-audio.js';
import { type AudioSource, decoderProblem } from '../../modules/transcriptions/audio/decoder.js';
import { EngineFailureError } from '../../modules/transcriptions/engines/engine-failures.js';
import { EngineRuntime } from '../../modules/transcriptions/engines/engine-runtimes.service.js';
import {
  AudioRejectedError,
  type TranscriptionEngine,
  type TranscriptWord,
} from '../../modules/transcriptions/engines/transcription-engine.js';
import { SpeechDetectionService } from '../../modules/transcriptions/speech/speech-detection.service.js';
import {
  type AudioInput,
  TranscriberService,
  type TranscriptionResult,
} from '../../modules/transcriptions/worker/transcriber.service.js';
import { AUDIO_FORMAT_LIST } from '../../platform/audio-formats.js';
import type { Env } from '../../platform/config/env.js';
import { cpuSecondsOf } from '../../platform/processes/resources.js';
import { AccuracyError, type ManifestEntry } from './manifest.js';
import { leaderboardEnglish } from './leaderboard-english.js';
import { alignWords, comparedUnits, countErrors, type ErrorCounts, unitNameOf } from './word-errors.js';

export interface Measurement {
  folder: string;
  entries: readonly ManifestEntry[];
  /** Recordings at the same time; by default as many as the engine has chunks. */
  jobs: number | null;
  /** Without the mapping of confidences. */
  rawConfidence: boolean;
  /** Called after each recording. */
  onProgress: (done: number, of: number) => void;
}

/**
 * Transcribes the recordings as a worker does, with the decoder, the cutter and the engine of the service, but without
 * HTTP, queue and database.
 * @throws AccuracyError when the engine does not work
 */
export async function measure(engine: TranscriptionEngine, env: Env, options: Measurement): Promise<AccuracyResult> {
  const used = options.rawConfidence ? withoutCalibration(engine) : engine;
  const runtime = new EngineRuntime(used, env.transcriptionMemoryMb << 20);
  const speech = new SpeechDetectionService(env);
  const transcribe: Transcribe = (audio) => new TranscriberService(env, speech).transcribe(audio, runtime);
  try {
    // Starts the engine, so that its start is not measured.
    const problem = (await decoderProblem(env.sandbox)) ?? (await engine.problem());
    if (problem) throw new AccuracyError(`The engine ${engine.name} does not work: ${problem}`);
    const [wall, cpu] = [performance.now(), cpuSecondsOf(process.pid)];
    const jobs = options.jobs ?? Math.max(1, engine.concurrency);
    const { files, skipped } = await measureAll({ engine, transcribe }, options, jobs);
    const cpuNow = cpuSecondsOf(process.pid);
    return {
      format: 1,
      engine: engine.name,
      model: engine.model,
      recordings: path.basename(path.resolve(options.folder)),
      date: new Date().toISOString().slice(0, 10),
      rawConfidence: options.rawConfidence,
      jobs,
      wallSeconds: rounded((performance.now() - wall) / 1000),
      cpuSeconds: cpu === null || cpuNow === null ? null : rounded(cpuNow - cpu),
      skipped,
      files,
    };
  } finally {
    await Promise.all([engine.close(), speech.onApplicationShutdown()]);
  }
}

/** The same engine, but for the mapping of its confidences. */
function withoutCalibration(engine: TranscriptionEngine): TranscriptionEngine {
  return new Proxy(engine, {
    get(target, name: keyof TranscriptionEngine) {
      if (name === 'calibration') return undefined;
      const value: unknown = target[name];
      // A method may use private fields, which a proxy does not have.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

type Transcribe = (audio: AudioInput) => Promise<TranscriptionResult>;

/** What transcribes. */
interface Recogniser {
  engine: TranscriptionEngine;
  transcribe: Transcribe;
}

type Outcome = { result: FileResult } | { skipped: { file: string; reason: string } };

async function measureAll(
  recogniser: Recogniser,
  { folder, entries, onProgress }: Measurement,
  jobs: number,
): Promise<Pick<AccuracyResult, 'files' | 'skipped'>> {
  const outcomes: Outcome[] = [];
  let [next, done] = [0, 0];
  const work = async (): Promise<void> => {
    for (let index = next++; index < entries.length; index = next++) {
      outcomes[index] = await measureOne(recogniser, folder, entries[index] as ManifestEntry);
      onProgress(++done, entries.length);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return {
    files: outcomes.flatMap((outcome) => ('result' in outcome ? outcome.result : [])),
    skipped: outcomes.flatMap((outcome) => ('skipped' in outcome ? outcome.skipped : [])),
  };
}

async function measureOne(recogniser: Recogniser, folder: string, entry: ManifestEntry): Promise<Outcome> {
  const { file, lang } = entry;
  const { languages } = recogniser.engine;
  if (lang !== null && languages !== 'any' && !languages.includes(lang)) {
    return { skipped: { file, reason: `the engine does not support ${lang}` } };
  }
  const source = await sourceOf(path.resolve(folder, file));
  if (!source) return { skipped: { file, reason: `not in ${AUDIO_FORMAT_LIST}` } };
  try {
    const signal = new AbortController().signal;
    const audio = { ...source, accountId: 'accuracy', language: lang, signal };
    return { result: judge(entry, await recogniser.transcribe(audio)) };
  } catch (error) {
    const cause = error instanceof EngineFailureError ? error.original : error;
    if (!(cause instanceof AudioRejectedError)) throw cause;
    return { result: judge(entry, { problem: cause.message }) };
  }
}

/** Null for what the service does not take. */
export async function sourceOf(file: string): Promise<AudioSource | null> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw new AccuracyError(`Cannot read ${file} (${error.code ?? error.message})`);
  });
  try {
    const window = new FileWindow(handle, (await handle.stat()).size);
    const format = await detectFormat(window);
    if (!format) return null;
    const { sampleRate, channels } = await probeAudio(window, format);
    return { file, format, sampleRate, channels };
  } finally {
    await handle.close();
  }
}

const rounded = (seconds: number): number => Number(seconds.toFixed(2));

/** One recording: what was said, what was recognised, and how the two differ. */
export interface FileResult {
  file: string;
  lang: string | null;
  /** Length of the decoded audio. */
  seconds: number;
  ref: string;
  text: string;
  errors: ErrorCounts;
  /** By the rules of the Open ASR Leaderboard. Absent for other languages than English, and in older results. */
  leaderboardErrors?: ErrorCounts;
  /** Whether words or characters are counted. */
  unit: 'word' | 'character';
  confidence: number;
  /** For each word with a confidence: the word, its confidence, and 1 if it was said there, else 0. */
  words: [word: string, confidence: number, correct: 0 | 1][];
  /** Why there is no text; null when there is one. */
  problem: string | null;
}

/** What a measurement leaves behind, as a file of JSON that can be compared with others. */
export interface AccuracyResult {
  format: 1;
  engine: string;
  model: string;
  /** Base name of the folder. */
  recordings: string;
  date: string;
  /** Whether the confidences are those of the engine, without the mapping of the service. */
  rawConfidence: boolean;
  /** Recordings that were transcribed at the same time. */
  jobs: number;
  /** For all recordings, without the start of the engine. */
  wallSeconds: number;
  /** CPU time of all processes of the service on this machine; null where it cannot be told. */
  cpuSeconds: number | null;
  /** Recordings that were not measured, and why. */
  skipped: { file: string; reason: string }[];
  files: FileResult[];
}

/** What the service has made of a recording. */
interface Recognised {
  text: string;
  confidence: number;
  words: readonly TranscriptWord[];
  durationSeconds: number;
}

/** Compares what was recognised with what was said. A recording that was refused has no text: all of it is missing. */
export function judge(entry: ManifestEntry, recognised: Recognised | { problem: string }): FileResult {
  const problem = 'problem' in recognised ? recognised.problem : null;
  const { text, confidence, words, durationSeconds } =
    'problem' in recognised ? { text: '', confidence: 0, words: [], durationSeconds: 0 } : recognised;
  const said = comparedUnits(entry.ref, entry.lang);
  return {
    file: entry.file,
    lang: entry.lang,
    seconds: durationSeconds,
    ref: entry.ref,
    text,
    errors: countErrors(alignWords(said, comparedUnits(text, entry.lang))),
    ...(entry.lang === 'english' && {
      leaderboardErrors: countErrors(alignWords(leaderboardEnglish(entry.ref), leaderboardEnglish(text))),
    }),
    unit: unitNameOf(said),
    confidence,
    words: judgedWords(said, words, entry.lang),
    problem,
  };
}

/** A word is correct when all its units were said at its place. Words without confidence or letters are left out. */
function judgedWords(said: readonly string[], words: readonly TranscriptWord[], lang: string | null) {
  const units = words.map(({ word }) => comparedUnits(word, lang));
  const correct = new Set<number>();
  for (const { kind, heard } of alignWords(said, units.flat())) if (kind === 'correct') correct.add(heard);
  let first = 0;
  return words.flatMap(({ word, confidence }, index): FileResult['words'] => {
    const { length } = units[index] as string[];
    const isCorrect = Array.from({ length }, (_, unit) => first + unit).every((unit) => correct.has(unit));
    first += length;
    return confidence === null || length === 0 ? [] : [[word, confidence, isCorrect ? 1 : 0]];
  });
}
