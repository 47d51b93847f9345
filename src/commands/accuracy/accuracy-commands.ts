import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Logger } from '@nestjs/common';
import { addedBy, type Extension } from '../../extension.js';
import { registeredEngines, selectEngine } from '../../modules/transcriptions/engines/engine-registry.js';
import type { EngineDefinition } from '../../modules/transcriptions/engines/transcription-engine.js';
import { type Env, readEnv } from '../../platform/config/env.js';
import { fitReport } from './calibration.js';
import { compareResults, comparisonReport, summaryOf, textReport } from './report.js';
import { reliabilitySvg } from './reliability-svg.js';
import { type AccuracyResult, measure } from './measure.js';
import { AccuracyError, readRecordings } from './manifest.js';

export interface AccuracyOptions {
  engine?: string;
  model?: string;
  compare?: true;
  fit?: true;
  raw?: true;
  limit?: number;
  sample?: number;
  jobs?: number;
  out: string;
  json?: true;
}

export async function runCommand(paths: string[], options: AccuracyOptions, extensions: Extension[]): Promise<void> {
  // Standard output is for the result.
  Logger.overrideLogger(false);
  const command = options.compare ? compare : options.fit ? fit : measureOne;
  const { json, text } = await command(paths, options, extensions);
  process.stdout.write(options.json ? `${JSON.stringify(json)}\n` : text);
}

/** What a command prints: one value with --json, else text. */
interface Output {
  json: object;
  text: string;
}

async function measureOne(paths: string[], options: AccuracyOptions, extensions: Extension[]): Promise<Output> {
  const [folder, ...more] = paths;
  if (folder === undefined || more.length > 0) throw new AccuracyError('Give one folder');
  const result = await measureEngine(folder, options, options, extensions);
  const summary = summaryOf(result);
  const saved = await save(result, options.out);
  return { json: { ...result, summary }, text: `${textReport(result, summary)}\nSaved: ${saved.join(', ')}\n` };
}

async function compare(paths: string[], options: AccuracyOptions, extensions: Extension[]): Promise<Output> {
  const [first, second, folder, ...more] = paths;
  if (first === undefined || second === undefined || more.length > 0) {
    throw new AccuracyError('--compare needs two engines and a folder, or two results');
  }
  const results: AccuracyResult[] = [];
  for (const item of [first, second]) {
    if (folder === undefined) {
      results.push(await readResult(item));
      continue;
    }
    const [engine = '', ...model] = item.split(':');
    const selected = { engine, model: model.join(':') || undefined };
    const result = await measureEngine(folder, selected, options, extensions);
    await save(result, options.out);
    results.push(result);
  }
  const [a, b] = results as [AccuracyResult, AccuracyResult];
  const comparisons = compareResults(a, b, [first, second]);
  return { json: { comparisons }, text: comparisonReport(comparisons) };
}

async function fit(paths: string[]): Promise<Output> {
  const results = await Promise.all(paths.map(readResult));
  return fitReport(results);
}

interface SelectedEngine {
  /** That of TRANSCRIPTION_ENGINE when left out. */
  engine?: string;
  model?: string;
}

async function measureEngine(
  folder: string,
  { engine: name, model }: SelectedEngine,
  { limit, sample, jobs, raw }: AccuracyOptions,
  extensions: Extension[],
): Promise<AccuracyResult> {
  const entries = await readRecordings(folder, { limit, sample });
  const engines = addedBy(extensions, 'engines');
  const env = environment(name, model === undefined ? {} : modelSetting(registeredEngines(engines), name, model));
  return measure(selectEngine(env, engines).create(env), env, {
    folder,
    entries,
    jobs: jobs ?? null,
    rawConfidence: raw ?? false,
    onProgress: (done, of) => {
      if (process.stderr.isTTY) process.stderr.write(done === of ? '\r\x1b[K' : `\r${done} of ${of} recordings`);
    },
  });
}

function modelSetting(engines: readonly EngineDefinition[], name: string | undefined, model: string) {
  const engine = engines.find((candidate) => candidate.name === name);
  if (name === undefined || (engine && !engine.modelVariable)) {
    throw new AccuracyError(name === undefined ? '--model needs --engine' : `${name} has no other models`);
  }
  // An unknown engine is refused when it is selected.
  return engine?.modelVariable ? { [engine.modelVariable]: model } : {};
}

/** That of a transcriber, which is not connected to anything here. */
export function environment(engine: string | undefined, more: Record<string, string> = {}): Env {
  const unused = { ROLES: 'transcriber', DATABASE_URL: 'postgres://localhost/unused', REDIS_URL: 'redis://localhost' };
  return readEnv({ ...process.env, ...unused, ...(engine && { TRANSCRIPTION_ENGINE: engine }), ...more });
}

/** @returns the files: the result as JSON, and the reliability curve beside it */
async function save(result: AccuracyResult, folder: string): Promise<string[]> {
  const { engine, model, recordings, rawConfidence } = result;
  const name = [engine, model, recordings, ...(rawConfidence ? ['raw'] : [])].join('-').replace(/[^\w.-]+/g, '_');
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, `${name}.json`);
  await writeFile(file, `${JSON.stringify(result)}\n`);
  const { reliability } = summaryOf(result, { samples: 2 });
  if (!reliability) return [file];
  const curve = path.join(folder, `${name}.svg`);
  await writeFile(curve, reliabilitySvg(`${engine} ${model} on ${recordings}`, reliability));
  return [file, curve];
}

async function readResult(file: string): Promise<AccuracyResult> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new AccuracyError(`Cannot read ${file} (${error.code ?? error.message})`);
  });
  try {
    const result = JSON.parse(text) as AccuracyResult;
    if (result.format === 1 && Array.isArray(result.files)) return result;
  } catch {
    // Not JSON either.
  }
  throw new AccuracyError(`${file} is not a result of this command`);
}
