import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { languageName } from '../../platform/languages.js';
import { errorCode } from '../../platform/storage/file-system.js';
import {
  FILE_ROLES,
  type FileRole,
  isStreaming,
  type KindSettings,
  kindOfMetadata,
  type Metadata,
  MODEL_KINDS,
  type ModelKind,
  type StreamingProperties,
} from './model-kinds.js';
import { ModelError, type OnnxFile, readOnnxFile } from './onnx-file.js';

export { ModelError };

type ModelFiles = Partial<Record<FileRole, string>>;

/** How a model takes audio while it comes. */
export interface Streaming {
  /** Audio that it takes at a time. */
  windowSeconds: number;
  /** By which times of its tokens are to be multiplied. */
  timeFactor: number;
}

/** A complete model. */
export interface ModelFolder {
  folder: string;
  kind: ModelKind;
  /** Absolute paths; which ones depends on the kind. */
  files: ModelFiles & { tokens: string };
  /** What sherpa-onnx calls the kind and its files. */
  settings: KindSettings;
  /** The folder, and where its files really are if they are links. */
  reads: readonly [string, ...string[]];
  /** Size of all files that are loaded, including weights outside the ONNX files. */
  bytes: number;
  /** Null for a model of whole chunks. */
  streaming: Streaming | null;
  /** Lower-case English names; null when nothing says which. */
  languages: readonly string[] | null;
}

/** A file beside the model that may say more about it: `{"languages": ["english"]}`. `npm run models` writes it. */
export const MODEL_RECORD = 'model.json';
const MAX_RECORD_BYTES = 1 << 20;

const BLANKS = ['<blk>', '<eps>', '<blank>'];
const MAX_TOKENS_BYTES = 32 << 20;

/** A precision that a name ends in. The smallest comes first: on a processor it is the fastest, too. */
const PRECISIONS = ['int8', 'uint8', 'quant', '', 'fp16', 'float16', 'fp32'];
const PRECISION = /[-_.](int8|uint8|quant|fp16|float16|fp32)(?=\.)/;

/**
 * Tells which model a folder holds, from the names of its files and the properties in them. Loads nothing: a few
 * kilobytes are read, whatever the size of the model.
 * @throws ModelError that names what is missing, damaged or not supported
 */
export function readModelFolder(folder: string): ModelFolder {
  const files = findModelFiles(folder);
  const kind = detectKind(folder, files);
  const { parts, needsBlank, streaming, settings } = MODEL_KINDS[kind];
  const complete = requireFiles(folder, `a model of the kind ${kind}`, files, [...parts, 'tokens']);
  const onnx = parts.map((role) => readOnnxFile(complete[role]));
  const metadata = onnx[0]?.metadata ?? new Map<string, string>();
  const symbols = readTokens(complete.tokens);
  if (needsBlank && !BLANKS.some((blank) => symbols.includes(blank))) {
    throw new ModelError(`${complete.tokens} has no line for ${BLANKS[0]}, the symbol between two others`);
  }
  return {
    folder,
    kind,
    files: complete,
    settings: settings(complete, metadata),
    reads: readsOf(folder, files),
    bytes: onnx.reduce((sum, { bytes, externalFiles }) => sum + bytes + sizeOf(folder, externalFiles), 0),
    streaming: streaming ? streamingOf(complete[parts[0]], streaming, metadata) : null,
    languages: recordedLanguages(folder) ?? languagesOf(kind, metadata) ?? languagesInName(folder),
  };
}

/** Whether the folder holds a streaming model. It may lack other files. @throws ModelError */
export function isStreamingModel(folder: string): boolean {
  const { encoder, model } = findModelFiles(folder);
  const file = encoder ?? model;
  return file !== undefined && isStreaming(readOnnxFile(file).metadata);
}

/**
 * The symbols of a model's tokens file. sherpa-onnx would end the process over a file that breaks the rules.
 * @throws ModelError
 */
export function readTokens(file: string): string[] {
  const text = readText(file, MAX_TOKENS_BYTES);
  const lines = text.split('\n').map((line) => line.trimEnd());
  while (lines.at(-1) === '') lines.pop();
  if (lines.length === 0) throw new ModelError(`${file} is empty`);
  return lines.map((line, index) => {
    // A line with only a number stands for a space.
    const match = /^\s*(?:(\S+)\s+)?-?\d+$/.exec(line);
    if (!match) throw new ModelError(`${file} line ${index + 1} is no token and its number`);
    return match[1] ?? '';
  });
}

/** @throws ModelError */
export function readText(file: string, maxBytes = MAX_TOKENS_BYTES): string {
  let size: number;
  let text: string;
  try {
    ({ size } = statSync(file));
    text = size > maxBytes ? '' : readFileSync(file, 'utf8');
  } catch (error) {
    throw new ModelError(`${file} cannot be read: ${errorCode(error) ?? String(error)}`);
  }
  if (size > maxBytes) throw new ModelError(`${file} is larger than ${maxBytes} bytes`);
  return text;
}

/** Absolute paths of the model's files, of each role the one with the smallest precision. */
function findModelFiles(folder: string): ModelFiles {
  const names = namesIn(folder);
  const found: ModelFiles = {};
  for (const [role, { pattern }] of Object.entries(FILE_ROLES) as [FileRole, { pattern: RegExp }][]) {
    const best = smallestOf(
      folder,
      names.filter((name) => pattern.test(name)),
    );
    if (best !== undefined) found[role] = path.join(folder, best);
  }
  return found;
}

/**
 * Of the files of one model in several precisions, that with the smallest.
 * @throws ModelError when they are of several models
 */
export function smallestOf(folder: string, names: readonly string[]): string | undefined {
  const models = new Set(names.map((name) => name.replace(PRECISION, '').replace(/\.(onnx|ort)$/, '')));
  if (models.size > 1) {
    throw new ModelError(`${folder} holds files of several models (${names.join(', ')}): give each its own folder`);
  }
  const [best] = names.toSorted((one, other) => precisionOf(one) - precisionOf(other));
  return best;
}

/** @throws ModelError */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    const code = errorCode(error);
    const reason =
      code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is no folder' : `cannot be read: ${code}`;
    throw new ModelError(`The model folder ${folder} ${reason}`);
  }
}

function precisionOf(name: string): number {
  return PRECISIONS.indexOf(PRECISION.exec(name)?.[1] ?? '');
}

/** @throws ModelError that names the first one missing */
function requireFiles(folder: string, what: string, files: ModelFiles, roles: readonly FileRole[]) {
  const [first, ...others] = roles.filter((role) => files[role] === undefined).map((role) => FILE_ROLES[role].example);
  if (first === undefined) return files as Record<FileRole, string>;
  const more = others.length > 0 ? ` (and ${others.join(', ')})` : '';
  throw new ModelError(`${folder} looks like ${what} but lacks ${first}${more}`);
}

function detectKind(folder: string, files: ModelFiles): ModelKind {
  if (files.moonshineEncoder ?? files.uncachedDecoder ?? files.cachedDecoder ?? files.preprocessor) return 'moonshine';
  if (files.mergedDecoder) return 'moonshine-v2';
  if (files.encoder ?? files.decoder ?? files.joiner) {
    const what = files.joiner ? 'a transducer' : 'a model with encoder and decoder';
    const { encoder } = requireFiles(folder, what, files, ['encoder', 'decoder']);
    const onnx = readOnnxFile(encoder);
    return kindOfMetadata(onnx.metadata, 'encoder') ?? kindWithoutType(files, onnx) ?? unknown(encoder, onnx);
  }
  if (files.model === undefined) {
    throw new ModelError(`${folder} holds no model: no encoder.onnx, model.onnx or the like is in it`);
  }
  requireFiles(folder, 'a model', files, ['tokens']);
  const onnx = readOnnxFile(files.model);
  const kind = kindOfMetadata(onnx.metadata, 'model');
  return kind ?? (onnx.metadata.has('invstd') ? 'dolphin' : unknown(files.model, onnx));
}

const FRAMES_PER_SECOND = 100;
const SUPPOSED_STEP = 4;

/** @throws ModelError */
function streamingOf(file: string, { window, step }: StreamingProperties, metadata: Metadata): Streaming {
  const frames = (property: string): number => {
    const value = metadata.get(property) ?? '';
    if (/^[1-9]\d{0,3}$/.test(value)) return Number(value);
    throw new ModelError(`${file} does not tell its ${property}: use an export for sherpa-onnx`);
  };
  return {
    windowSeconds: frames(window) / FRAMES_PER_SECOND,
    timeFactor: step === undefined ? 1 : frames(step) / SUPPOSED_STEP,
  };
}

/** Old exports of transducers have no `model_type`, and those of FireRedASR differ. */
function kindWithoutType(files: ModelFiles, { metadata }: OnnxFile): ModelKind | undefined {
  if (files.joiner && !isStreaming(metadata)) return 'transducer';
  return metadata.has('cmvn_mean') && metadata.has('num_decoder_layers') ? 'fire-red-asr' : undefined;
}

function unknown(file: string, { metadata }: OnnxFile): never {
  const type = metadata.get('model_type');
  throw new ModelError(
    type === undefined
      ? `${file} does not say what it is (no model_type in its properties): use an export for sherpa-onnx`
      : `${file} is a model of the kind ${type}, which is not supported`,
  );
}

function readsOf(folder: string, files: ModelFiles): [string, ...string[]] {
  const targets = Object.values(files).map((file) => realpathSync(file));
  return [folder, ...targets.filter((file) => path.dirname(file) !== path.resolve(folder))];
}

function sizeOf(folder: string, names: readonly string[]): number {
  const sizes = names.map((name) => {
    const file = path.resolve(folder, name);
    if (path.dirname(file) !== path.resolve(folder)) throw new ModelError(`The model needs ${name} outside ${folder}`);
    try {
      return statSync(file).size;
    } catch (error) {
      throw new ModelError(`${folder} lacks ${name}, which holds weights of the model (${errorCode(error)})`);
    }
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

function recordedLanguages(folder: string): string[] | null {
  const file = path.join(folder, MODEL_RECORD);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null;
  let languages: unknown;
  try {
    ({ languages } = JSON.parse(readText(file, MAX_RECORD_BYTES)) as { languages?: unknown });
  } catch (error) {
    throw new ModelError(`${file} is not JSON: ${(error as Error).message}`);
  }
  if (languages === undefined || languages === null || languages === 'any') return null;
  const names = Array.isArray(languages)
    ? languages.map((item) => (typeof item === 'string' ? languageName(item) : null))
    : [null];
  if (names.length === 0 || names.includes(null))
    throw new ModelError(`languages in ${file} must be a list of languages`);
  return unique(names);
}

function languagesOf(kind: ModelKind, metadata: Metadata): string[] | null {
  if (kind !== 'whisper') return namesOf(MODEL_KINDS[kind].languages ?? []);
  if (metadata.get('is_multilingual') === '0') return ['english'];
  return namesOf((metadata.get('all_language_codes') ?? '').split(','));
}

/** The published names contain the codes: `sherpa-onnx-paraformer-zh-2023-09-14`, `…-ctc-be-de-en-es-fr-hr-it-pl-ru-uk-20k`. */
function languagesInName(folder: string): string[] | null {
  const name = path.basename(folder);
  if (!/^(sherpa-onnx|icefall)-/.test(name)) return null;
  return namesOf(name.split(/[-_.]/).filter((part) => /^([a-z]{2}|yue)$/.test(part)));
}

function namesOf(codes: readonly string[]): string[] | null {
  const names = unique(codes.map((code) => languageName(code.trim())));
  return names.length > 0 ? names : null;
}

function unique(names: readonly (string | null)[]): string[] {
  return [...new Set(names.filter((name) => name !== null))];
}
