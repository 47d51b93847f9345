import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { errorCode } from '../../../platform/storage/file-system.js';
import { ModelError } from './model-error.js';

/** What a file is for, by its name: exporters use these names, with or without the model's name before and `.int8` after. */
const ROLES = {
  tokens: { pattern: /(^|[-_.])tokens\.txt$/, example: 'tokens.txt' },
  encoder: { pattern: /(^|[-_.])encoder([-_.].*)?\.(onnx|ort)$/, example: 'encoder.int8.onnx' },
  decoder: { pattern: /(^|[-_.])decoder(?!_model_merged)([-_.].*)?\.(onnx|ort)$/, example: 'decoder.int8.onnx' },
  joiner: { pattern: /(^|[-_.])joiner([-_.].*)?\.onnx$/, example: 'joiner.int8.onnx' },
  mergedDecoder: {
    pattern: /(^|[-_.])decoder_model_merged([-_.].*)?\.(onnx|ort)$/,
    example: 'decoder_model_merged.ort',
  },
  preprocessor: { pattern: /^preprocess(or)?([-_.].*)?\.(onnx|ort)$/, example: 'preprocess.onnx' },
  moonshineEncoder: { pattern: /^encode([-_.].*)?\.(onnx|ort)$/, example: 'encode.int8.onnx' },
  uncachedDecoder: { pattern: /^uncached_decode([-_.].*)?\.(onnx|ort)$/, example: 'uncached_decode.int8.onnx' },
  cachedDecoder: { pattern: /^cached_decode([-_.].*)?\.(onnx|ort)$/, example: 'cached_decode.int8.onnx' },
  model: { pattern: /^(model|ctc)([-_.].*)?\.onnx$/, example: 'model.int8.onnx' },
  /** The pieces of a model's words, for hot words. */
  bpeVocabulary: { pattern: /^bpe\.vocab$/, example: 'bpe.vocab' },
} as const;

export type FileRole = keyof typeof ROLES;
export type ModelFiles = Partial<Record<FileRole, string>>;

/** A precision that a name ends in. The smallest comes first: on a processor it is the fastest, too. */
const PRECISIONS = ['int8', 'uint8', 'quant', '', 'fp16', 'float16', 'fp32'];
const PRECISION = /[-_.](int8|uint8|quant|fp16|float16|fp32)(?=\.)/;

const MAX_TOKENS_BYTES = 32 << 20;

/**
 * Absolute paths of the model's files, of each kind the one with the smallest precision.
 * @throws ModelError when the folder cannot be read, or holds files of several models
 */
export function findModelFiles(folder: string): ModelFiles {
  const names = namesIn(folder);
  const found: ModelFiles = {};
  for (const [role, { pattern }] of Object.entries(ROLES) as [FileRole, { pattern: RegExp }][]) {
    const candidates = names.filter((name) => pattern.test(name));
    const models = new Set(candidates.map((name) => name.replace(PRECISION, '').replace(/\.(onnx|ort)$/, '')));
    if (models.size > 1) {
      throw new ModelError(
        `${folder} holds files of several models (${candidates.join(', ')}): give each its own folder`,
      );
    }
    const [best] = candidates.toSorted((one, other) => precisionOf(one) - precisionOf(other));
    if (best !== undefined) found[role] = path.join(folder, best);
  }
  return found;
}

/** @throws ModelError that names the first one missing */
export function requireFiles(folder: string, what: string, files: ModelFiles, roles: readonly FileRole[]): void {
  const missing = roles.filter((role) => files[role] === undefined);
  const [first] = missing;
  if (first === undefined) return;
  const others = missing.slice(1).map((role) => ROLES[role].example);
  const more = others.length > 0 ? ` (and ${others.join(', ')})` : '';
  throw new ModelError(`${folder} looks like ${what} but lacks ${ROLES[first].example}${more}`);
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
    const [, symbol = ''] =
      /^\s*(?:(\S+)\s+)?-?\d+$/.exec(line) ?? fail(`${file} line ${index + 1} is no token and its number`);
    return symbol;
  });
}

/** @throws ModelError */
export function readText(file: string, maxBytes: number): string {
  try {
    const { size } = statSync(file);
    return size > maxBytes ? fail(`${file} is larger than ${maxBytes} bytes`) : readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof ModelError) throw error;
    throw new ModelError(`${file} cannot be read: ${errorCode(error) ?? String(error)}`);
  }
}

function namesIn(folder: string): string[] {
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

function fail(message: string): never {
  throw new ModelError(message);
}
