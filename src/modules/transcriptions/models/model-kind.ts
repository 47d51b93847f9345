import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { languageName } from '../../../platform/languages.js';
import { errorCode } from '../../../platform/storage/file-system.js';
import { ModelError } from './model-error.js';
import { type FileRole, findModelFiles, type ModelFiles, readText, readTokens, requireFiles } from './model-files.js';
import { type OnnxFile, readOnnxFile } from './onnx-file.js';

/** The kinds of models that sherpa-onnx loads, named after its settings. */
export type ModelKind =
  | 'canary'
  | 'cohere-transcribe'
  | 'dolphin'
  | 'fire-red-asr'
  | 'fire-red-asr-ctc'
  | 'medasr'
  | 'moonshine'
  | 'moonshine-v2'
  | 'nemo-ctc'
  | 'nemo-transducer'
  | 'omnilingual'
  | 'paraformer'
  | 'sense-voice'
  | 'telespeech-ctc'
  | 'transducer'
  | 'wenet-ctc'
  | 'whisper'
  | 'zipformer-ctc';

/** A complete model. */
export interface ModelFolder {
  folder: string;
  kind: ModelKind;
  /** Absolute paths; which ones depends on the kind. */
  files: ModelFiles & { tokens: string };
  /** The folder, and where its files really are if they are links. */
  reads: readonly [string, ...string[]];
  /** Size of all files that are loaded, including weights outside the ONNX files. */
  bytes: number;
  /** Lower-case English names; null when nothing says which. */
  languages: readonly string[] | null;
  /** Properties of the encoder, or of the only model file. */
  metadata: ReadonlyMap<string, string>;
}

/** A file beside the model that may say more about it: `{"languages": ["english"]}`. `npm run models` writes it. */
export const MODEL_RECORD = 'model.json';
const MAX_RECORD_BYTES = 1 << 20;

/** `model_type` of the encoder, of a model with a decoder. */
const ENCODER_TYPES: readonly (readonly [RegExp, ModelKind])[] = [
  [/^whisper/, 'whisper'],
  [/^EncDecMultiTaskModel$/, 'canary'],
  [/cohere-transcribe/, 'cohere-transcribe'],
  [/^fire-?red/i, 'fire-red-asr'],
  [/^EncDec(HybridRNNTCTC|RNNT)(BPE)?Model$/, 'nemo-transducer'],
  [/^(conformer|zipformer2?)$/, 'transducer'],
];

/** `model_type` of a model in one file. */
const SINGLE_TYPES: readonly (readonly [RegExp, ModelKind])[] = [
  [/^sense_voice/, 'sense-voice'],
  [/^paraformer$/, 'paraformer'],
  [/^EncDec(CTCModel|CTCModelBPE|HybridRNNTCTCBPEModel)$/, 'nemo-ctc'],
  [/^zipformer2?_ctc$/, 'zipformer-ctc'],
  [/^wenet_ctc$/, 'wenet-ctc'],
  [/^telespeech_ctc$/, 'telespeech-ctc'],
  [/^medasr_ctc$/, 'medasr'],
  [/^omnilingual/, 'omnilingual'],
  [/^fire-red-asr-2-ctc$/, 'fire-red-asr-ctc'],
  [/dolphin/i, 'dolphin'],
];

/** Models that emit a blank symbol between others, and stop the process when their tokens file names none. */
const NEEDS_BLANK: ReadonlySet<ModelKind> = new Set([
  'dolphin',
  'fire-red-asr-ctc',
  'medasr',
  'nemo-ctc',
  'nemo-transducer',
  'telespeech-ctc',
  'wenet-ctc',
  'zipformer-ctc',
]);
const BLANKS = ['<blk>', '<eps>', '<blank>'];

/**
 * Tells which model a folder holds, from the names of its files and the properties in them. Loads nothing: a few
 * kilobytes are read, whatever the size of the model.
 * @throws ModelError that names what is missing, damaged or not supported
 */
export function readModelFolder(folder: string): ModelFolder {
  const files = findModelFiles(folder);
  const { kind, roles, main } = kindOf(folder, files);
  const parts = roles.filter((role) => role !== 'tokens').map((role) => ({ role, file: files[role] ?? '' }));
  const onnx = parts.map(({ role, file }) => (role === main.role ? main.onnx : readOnnxFile(file)));
  const tokens = files.tokens ?? '';
  const symbols = readTokens(tokens);
  if (NEEDS_BLANK.has(kind) && !BLANKS.some((blank) => symbols.includes(blank))) {
    throw new ModelError(`${tokens} has no line for ${BLANKS[0]}, the symbol between two others`);
  }
  const { metadata } = main.onnx;
  return {
    folder,
    kind,
    files: { ...files, tokens },
    reads: readsOf(folder, files),
    bytes: onnx.reduce((sum, { bytes, externalFiles }) => sum + bytes + sizeOf(folder, externalFiles), 0),
    languages: recordedLanguages(folder) ?? languagesOf(kind, metadata) ?? languagesInName(folder),
    metadata,
  };
}

function readsOf(folder: string, files: ModelFiles): [string, ...string[]] {
  const targets = Object.values(files).map((file) => realpathSync(file));
  return [folder, ...targets.filter((file) => path.dirname(file) !== path.resolve(folder))];
}

interface DetectedKind {
  kind: ModelKind;
  roles: readonly FileRole[];
  /** The file whose properties say what the model is. */
  main: { role: FileRole; onnx: OnnxFile };
}

function kindOf(folder: string, files: ModelFiles): DetectedKind {
  if (files.moonshineEncoder ?? files.uncachedDecoder ?? files.cachedDecoder ?? files.preprocessor) {
    return complete(folder, files, 'moonshine', [
      'preprocessor',
      'moonshineEncoder',
      'uncachedDecoder',
      'cachedDecoder',
      'tokens',
    ]);
  }
  if (files.mergedDecoder) return complete(folder, files, 'moonshine-v2', ['encoder', 'mergedDecoder', 'tokens']);
  if (files.encoder ?? files.decoder ?? files.joiner) return encoderDecoder(folder, files);
  if (files.model === undefined) {
    throw new ModelError(`${folder} holds no model: no encoder.onnx, model.onnx or the like is in it`);
  }
  requireFiles(folder, 'a model', files, ['model', 'tokens']);
  const onnx = readOnnxFile(files.model);
  const kind = kindFrom(SINGLE_TYPES, onnx) ?? (onnx.metadata.has('invstd') ? 'dolphin' : unknown(files.model, onnx));
  return { kind, roles: ['model', 'tokens'], main: { role: 'model', onnx: offline(files.model, onnx) } };
}

function encoderDecoder(folder: string, files: ModelFiles): DetectedKind {
  const what = files.joiner ? 'a transducer' : 'a model with encoder and decoder';
  requireFiles(folder, what, files, ['encoder', 'decoder']);
  const encoder = files.encoder ?? '';
  const onnx = offline(encoder, readOnnxFile(encoder));
  const kind = kindFrom(ENCODER_TYPES, onnx) ?? kindWithoutType(files, onnx) ?? unknown(encoder, onnx);
  const isTransducer = kind === 'transducer' || kind === 'nemo-transducer';
  const roles: FileRole[] = isTransducer
    ? ['encoder', 'decoder', 'joiner', 'tokens']
    : ['encoder', 'decoder', 'tokens'];
  requireFiles(folder, `a model of the kind ${kind}`, files, roles);
  return { kind, roles, main: { role: 'encoder', onnx } };
}

function complete(folder: string, files: ModelFiles, kind: ModelKind, roles: readonly FileRole[]): DetectedKind {
  requireFiles(folder, `a model of the kind ${kind}`, files, roles);
  const role = roles[0] ?? 'encoder';
  return { kind, roles, main: { role, onnx: readOnnxFile(files[role] ?? '') } };
}

function kindFrom(types: readonly (readonly [RegExp, ModelKind])[], { metadata }: OnnxFile): ModelKind | undefined {
  const type = metadata.get('model_type') ?? '';
  return types.find(([pattern]) => pattern.test(type))?.[1];
}

/** Old exports of transducers have no `model_type`, and those of FireRedASR differ. */
function kindWithoutType(files: ModelFiles, { metadata }: OnnxFile): ModelKind | undefined {
  if (files.joiner) return 'transducer';
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

function offline(file: string, onnx: OnnxFile): OnnxFile {
  if (!['decode_chunk_len', 'chunk_shift'].some((name) => onnx.metadata.has(name))) return onnx;
  throw new ModelError(`${file} is a streaming model: use the non-streaming (offline) one`);
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

function languagesOf(kind: ModelKind, metadata: ReadonlyMap<string, string>): string[] | null {
  if (kind === 'whisper') {
    if (metadata.get('is_multilingual') === '0') return ['english'];
    return namesOf((metadata.get('all_language_codes') ?? '').split(','));
  }
  if (kind === 'sense-voice') return ['chinese', 'english', 'japanese', 'korean', 'cantonese'];
  if (kind === 'canary') return ['english', 'spanish', 'german', 'french'];
  if (kind === 'fire-red-asr' || kind === 'fire-red-asr-ctc' || kind === 'telespeech-ctc')
    return ['chinese', 'english'];
  if (kind === 'moonshine' || kind === 'medasr') return ['english'];
  return null;
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
