import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Logger } from '@nestjs/common';
import { decode } from '../../modules/transcriptions/audio/decoder.js';
import { BYTES_PER_SECOND } from '../../modules/transcriptions/audio/pcm.js';
import { SpeakerDiarizerService } from '../../modules/transcriptions/speakers/speaker-diarizer.service.js';
import type { Env } from '../../platform/config/env.js';
import { environment } from './accuracy-commands.js';
import { AccuracyError } from './manifest.js';
import { sourceOf } from './measure.js';
import { formatRttm, readRttm, type SpokenTurn } from './rttm.js';
import { errorRate, type SpeakerErrors, speakerErrors, sumOfErrors } from './speaker-errors.js';

export interface SpeakersOptions {
  /** The number in the reference is given to the diarizer. */
  known?: true;
  threshold?: number;
  out: string;
  json?: true;
}

/** In seconds: without, and that of NIST's evaluations. */
const COLLARS = [0, 0.25] as const;
const RTTM = '.rttm';

interface Comparison {
  recording: string;
  /** Speakers in the reference and in what was heard. */
  speakers: number;
  found: number;
  /** By collar. */
  errors: SpeakerErrors[];
}

/** Compares two files in the form RTTM, or what the diarizer hears in the recordings of a folder with the RTTM beside each. */
export async function runSpeakers(paths: string[], options: SpeakersOptions): Promise<void> {
  // Standard output is for the result.
  Logger.overrideLogger(false);
  const [first, second, ...more] = paths;
  if (first === undefined || more.length > 0) throw new AccuracyError('Give a folder, or two files in the form RTTM');
  const { model, comparisons, seconds } =
    second === undefined ? await measureFolder(first, options) : await compareFiles(first, second);
  const total = COLLARS.map((_, index) => sumOfErrors(comparisons.map(({ errors }) => errors[index] as SpeakerErrors)));
  const json = { model, seconds, collars: COLLARS, recordings: comparisons, total, rates: total.map(errorRate) };
  process.stdout.write(options.json ? `${JSON.stringify(json)}\n` : textOf(comparisons, total, model, seconds));
}

interface Measured {
  /** Null: of files that were given. */
  model: string | null;
  /** Of audio, and of work by the clock. */
  seconds: { audio: number; work: number } | null;
  comparisons: Comparison[];
}

async function compareFiles(reference: string, heard: string): Promise<Measured> {
  const [said, found] = [await readRttm(reference), await readRttm(heard)];
  const comparisons = [...said].map(([recording, turns]) => compared(recording, turns, found.get(recording) ?? []));
  if (comparisons.length === 0) throw new AccuracyError(`${reference} has no line of the type SPEAKER`);
  return { model: null, seconds: null, comparisons };
}

async function measureFolder(folder: string, options: SpeakersOptions): Promise<Measured> {
  const recordings = await recordingsIn(folder);
  const { threshold } = options;
  const env = environment(undefined, threshold === undefined ? {} : { SPEAKER_THRESHOLD: String(threshold) });
  const diarizer = new SpeakerDiarizerService(env);
  const work = await mkdtemp(path.join(os.tmpdir(), 'voice-notes-speakers-'));
  const seconds = { audio: 0, work: 0 };
  try {
    const problem = await diarizer.problem();
    if (problem !== null) throw new AccuracyError(problem);
    await mkdir(options.out, { recursive: true });
    const comparisons: Comparison[] = [];
    for (const { name, audio, reference } of recordings) {
      const said = [...(await readRttm(reference)).values()].flat();
      const speakers = options.known ? new Set(said.map(({ speaker }) => speaker)).size : null;
      const pcmFile = path.join(work, 'audio.pcm');
      const length = await decodeTo(pcmFile, audio, env);
      const start = performance.now();
      const { signal } = new AbortController();
      const segments = await diarizer.diarize({ pcmFile, seconds: length, speakers, accountId: 'accuracy', signal });
      seconds.work += (performance.now() - start) / 1000;
      seconds.audio += length;
      const heard = segments.map(({ start: from, end, speaker }) => ({ speaker: `S${speaker}`, start: from, end }));
      await writeFile(path.join(options.out, `${name}${RTTM}`), formatRttm(name, heard));
      comparisons.push(compared(name, said, heard));
    }
    return { model: diarizer.model, seconds, comparisons };
  } finally {
    await diarizer.onApplicationShutdown();
    await rm(work, { recursive: true });
  }
}

/** @throws AccuracyError when none has an RTTM beside it */
async function recordingsIn(folder: string): Promise<{ name: string; audio: string; reference: string }[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new AccuracyError(`Cannot read ${folder} (${error.code ?? error.message})`);
  });
  const recordings = names
    .filter((name) => path.extname(name) === RTTM)
    .flatMap((rttm) => {
      const name = path.basename(rttm, RTTM);
      const audio = names.find((other) => other !== rttm && path.parse(other).name === name);
      const inFolder = (file: string): string => path.join(folder, file);
      return audio === undefined ? [] : [{ name, audio: inFolder(audio), reference: inFolder(rttm) }];
    });
  if (recordings.length === 0) throw new AccuracyError(`${folder} has no recording with an ${RTTM} of its name`);
  return recordings.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** @returns the length in seconds */
async function decodeTo(pcmFile: string, audio: string, env: Env): Promise<number> {
  const source = await sourceOf(path.resolve(audio));
  if (!source) throw new AccuracyError(`${audio} is in no format that the service takes`);
  const { signal } = new AbortController();
  const file = createWriteStream(pcmFile);
  await pipeline(
    Readable.from(decode(source, { maxSeconds: env.maxAudioSeconds, signal, sandbox: env.sandbox })),
    file,
  );
  return file.bytesWritten / BYTES_PER_SECOND;
}

function compared(recording: string, said: readonly SpokenTurn[], heard: readonly SpokenTurn[]): Comparison {
  const count = (turns: readonly SpokenTurn[]): number => new Set(turns.map(({ speaker }) => speaker)).size;
  const errors = COLLARS.map((collar) => speakerErrors(said, heard, collar));
  return { recording, speakers: count(said), found: count(heard), errors };
}

const percent = (part: number): string => `${(100 * part).toFixed(2)} %`.padStart(10);

function textOf(
  comparisons: readonly Comparison[],
  total: readonly SpeakerErrors[],
  model: string | null,
  seconds: Measured['seconds'],
): string {
  const width = Math.max(9, ...comparisons.map(({ recording }) => recording.length)) + 2;
  const row = (name: string, speakers: string, errors: readonly SpeakerErrors[]): string =>
    name.padEnd(width) + speakers.padEnd(10) + errors.map(errorColumns).join('  ');
  const head = COLLARS.map((collar) =>
    [`DER ±${collar} s`, 'missed', 'false', 'confused'].map((title) => title.padStart(12)).join(''),
  );
  const lines = [
    ...(model === null ? [] : [`Models: ${model}`]),
    ...(seconds === null
      ? []
      : [`${seconds.audio.toFixed(0)} s of audio, ${(seconds.work / seconds.audio).toFixed(3)} s of work for each`]),
    '',
    'recording'.padEnd(width) + 'speakers'.padEnd(10) + head.join('  '),
    ...comparisons.map(({ recording, speakers, found, errors }) => row(recording, `${found} of ${speakers}`, errors)),
    row('all', '', total),
  ];
  return `${lines.join('\n')}\n`;
}

function errorColumns(errors: SpeakerErrors): string {
  const { speech, missed, falseAlarm, confused } = errors;
  const parts = [missed, falseAlarm, confused].map((part) => (speech === 0 ? 0 : part / speech));
  return [errorRate(errors), ...parts].map((part) => percent(part).padStart(12)).join('');
}
