import { realpathSync } from 'node:fs';
import path from 'node:path';
import { ModelError, namesIn, readModelFolder, smallestOf } from './model-folder.js';
import type { Metadata } from './model-kinds.js';
import { readOnnxFile } from './onnx-file.js';

/** The two kinds of models that tell speakers apart: where voices change, and whose voice it is. */
export const SPEAKER_KINDS = ['speaker-segmentation', 'speaker-embedding'] as const;
export type SpeakerKind = (typeof SPEAKER_KINDS)[number];

/** A complete model of one of these kinds: a single file. */
export interface SpeakerModel {
  folder: string;
  kind: SpeakerKind;
  /** Absolute path. */
  file: string;
  /** The folder, and where its file really is if it is a link. */
  reads: readonly [string, ...string[]];
  bytes: number;
  /** Samples in a window of a segmentation; 0 of an embedding. */
  window: number;
}

/** Without one of them sherpa-onnx ends the process. */
const NUMBERS: Readonly<Record<SpeakerKind, readonly string[]>> = {
  'speaker-segmentation': [
    'sample_rate',
    'window_size',
    'receptive_field_size',
    'receptive_field_shift',
    'num_speakers',
    'powerset_max_classes',
    'num_classes',
  ],
  'speaker-embedding': ['sample_rate', 'output_dim'],
};
const NEMO_NUMBERS = ['feat_dim', 'window_size_ms', 'window_stride_ms'];
const SAMPLE_RATE = 16_000;
/** Speakers at the same time that sherpa-onnx knows. */
const MAX_CLASSES = 2;

/**
 * The model for speakers that a folder holds; null when it holds another one or none. Loads nothing.
 * @throws ModelError that names what is missing or damaged
 */
export function readSpeakerModel(folder: string): SpeakerModel | null {
  const names = namesIn(folder).filter((name) => name.endsWith('.onnx'));
  const [first] = names;
  if (first === undefined || kindOf(readOnnxFile(path.join(folder, first)).metadata) === null) return null;
  const file = path.join(folder, smallestOf(folder, names) ?? first);
  const { bytes, metadata } = readOnnxFile(file);
  const kind = kindOf(metadata);
  if (kind === null) return null;
  requireProperties(file, kind, metadata);
  const target = realpathSync(file);
  return {
    folder,
    kind,
    file,
    reads: [folder, ...(path.dirname(target) === path.resolve(folder) ? [] : [target])],
    bytes,
    window: Number(metadata.get('window_size') ?? 0),
  };
}

/**
 * The model of any kind that a folder holds.
 * @throws ModelError
 */
export function readAnyModel(folder: string): {
  kind: string;
  /** Absolute paths. */
  files: readonly string[];
  /** Lower-case English names; null when nothing says which. */
  languages: readonly string[] | null;
} {
  const speakers = readSpeakerModel(folder);
  if (speakers) return { kind: speakers.kind, files: [speakers.file], languages: null };
  const { kind, files, languages } = readModelFolder(folder);
  return { kind, files: Object.values(files), languages };
}

function kindOf(metadata: Metadata): SpeakerKind | null {
  if (metadata.get('model_type')?.startsWith('pyannote-segmentation')) return 'speaker-segmentation';
  return /^(wespeaker|3d-speaker|nemo)$/.test(metadata.get('framework') ?? '') ? 'speaker-embedding' : null;
}

function requireProperties(file: string, kind: SpeakerKind, metadata: Metadata): void {
  const isNemo = metadata.get('framework') === 'nemo';
  const names = [...NUMBERS[kind], ...(isNemo ? NEMO_NUMBERS : [])];
  const missing = names.find((name) => !/^[1-9]\d*$/.test(metadata.get(name) ?? ''));
  if (missing !== undefined) {
    throw new ModelError(`${file} does not tell its ${missing}: use an export for sherpa-onnx`);
  }
  if (Number(metadata.get('sample_rate')) !== SAMPLE_RATE) {
    throw new ModelError(`${file} is for audio of ${metadata.get('sample_rate')} Hz: use one for ${SAMPLE_RATE} Hz`);
  }
  if (kind === 'speaker-segmentation' && Number(metadata.get('powerset_max_classes')) > MAX_CLASSES) {
    throw new ModelError(`${file} tells more than ${MAX_CLASSES} speakers at the same time, which is not supported`);
  }
}
