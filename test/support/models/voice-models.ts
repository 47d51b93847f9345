import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onnxModel } from './onnx-writer.js';

/**
 * Models of a few hundred kilobytes for the real diarizer. To them a voice is a tone, of a pitch for each person:
 * segmentation tells three registers apart, as the real one tells three voices within ten seconds, and the embedding is
 * the spectrum.
 */

/** In Hz, by person. Those of one register (0 and 3, 1 and 4, 2 and 5) are told apart by the embedding alone. */
const PITCHES = [300, 700, 1500, 450, 1000, 2200] as const;
const REGISTERS = 3;
const RATE = 16_000;

/** As pyannote's segmentation 3.0: windows of ten seconds, frames of 17 ms, at most two of three voices at a time. */
const WINDOW = 160_000;
const FRAME = 991;
const STEP = 270;
const CLASSES: readonly (readonly number[])[] = [[], [0], [1], [2], [0, 1], [0, 2], [1, 2]];
/** A tone counts from an amplitude of 0.07 of full scale. */
const GAIN = 100;

interface SegmentationOptions {
  metadata?: Record<string, string>;
  /** Whether it hears the first register where it is silent, as models hear voices in noise. */
  hearsSilence?: boolean;
}

/** A folder with a model of the kind speaker-segmentation. */
export async function writeSegmentationModel(
  folder: string,
  { metadata = {}, hearsSilence = false }: SegmentationOptions = {},
): Promise<string> {
  const bank = filterBank();
  const model = onnxModel({
    inputs: [{ name: 'x', type: 'float', shape: ['N', 1, 'T'] }],
    outputs: [{ name: 'y', type: 'float', shape: ['N', 'F', CLASSES.length] }],
    nodes: [
      {
        operator: 'Conv',
        inputs: ['x', 'bank'],
        outputs: ['parts'],
        attributes: { kernel_shape: [FRAME], strides: [STEP] },
      },
      { operator: 'Mul', inputs: ['parts', 'parts'], outputs: ['energies'] },
      { operator: 'Transpose', inputs: ['energies'], outputs: ['frames'], attributes: { perm: [0, 2, 1] } },
      { operator: 'MatMul', inputs: ['frames', 'registers'], outputs: ['loudness'] },
      { operator: 'Clip', inputs: ['loudness', 'none', 'all'], outputs: ['voices'] },
      { operator: 'MatMul', inputs: ['voices', 'classes'], outputs: ['weighted'] },
      { operator: 'Add', inputs: ['weighted', 'bias'], outputs: ['y'] },
    ],
    constants: [
      { name: 'bank', shape: [2 * PITCHES.length, 1, FRAME], data: bank },
      { name: 'registers', shape: [2 * PITCHES.length, REGISTERS], data: registersOfParts() },
      { name: 'classes', shape: [REGISTERS, CLASSES.length], data: classWeights(hearsSilence) },
      { name: 'none', shape: [], data: Float32Array.of(0) },
      { name: 'all', shape: [], data: Float32Array.of(1) },
      { name: 'bias', shape: [CLASSES.length], data: classBias(hearsSilence) },
    ],
    metadata: {
      model_type: 'pyannote-segmentation-3.0',
      sample_rate: String(RATE),
      window_size: String(WINDOW),
      receptive_field_size: String(FRAME),
      receptive_field_shift: String(STEP),
      num_speakers: String(REGISTERS),
      powerset_max_classes: '2',
      num_classes: String(CLASSES.length),
      ...metadata,
    },
  });
  return await writeModel(folder, model);
}

const BANDS = 80;
/** Added to the logarithm of a band's energy: what is negative then is no part of the voice. */
const FLOOR = 5;

/** A folder with a model of the kind speaker-embedding: the mean spectrum of what it hears. */
export async function writeEmbeddingModel(
  folder: string,
  metadata: Record<string, string> = {},
  operator = 'Relu',
): Promise<string> {
  const model = onnxModel({
    inputs: [{ name: 'x', type: 'float', shape: ['N', 'T', BANDS] }],
    outputs: [{ name: 'embedding', type: 'float', shape: ['N', BANDS] }],
    nodes: [
      { operator: 'ReduceMean', inputs: ['x'], outputs: ['mean'], attributes: { axes: [1], keepdims: 0 } },
      { operator: 'Add', inputs: ['mean', 'floor'], outputs: ['above'] },
      { operator, inputs: ['above'], outputs: ['embedding'] },
    ],
    constants: [{ name: 'floor', shape: [], data: Float32Array.of(FLOOR) }],
    metadata: {
      framework: '3d-speaker',
      language: 'English',
      sample_rate: String(RATE),
      output_dim: String(BANDS),
      normalize_samples: '1',
      ...metadata,
    },
  });
  return await writeModel(folder, model);
}

/** What a person says: when, in seconds. */
export interface Turn {
  person: number;
  start: number;
  end: number;
}

/** The voices of the turns, mixed; 16-bit little-endian. */
export function voicesPcm(turns: readonly Turn[], seconds: number): Buffer {
  const pcm = new Int16Array(Math.round(seconds * RATE));
  for (const { person, start, end } of turns) {
    const pitch = PITCHES[person] as number;
    for (let at = Math.round(start * RATE); at < Math.min(end * RATE, pcm.length); at++) {
      pcm[at] = (pcm[at] as number) + Math.round(8_000 * Math.sin((2 * Math.PI * pitch * at) / RATE));
    }
  }
  return Buffer.from(pcm.buffer);
}

async function writeModel(folder: string, model: Buffer): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'model.onnx'), model);
  return folder;
}

/** For each pitch the two parts, sine and cosine, under a window that hides the neighbours. */
function filterBank(): Float32Array {
  const bank = new Float32Array(2 * PITCHES.length * FRAME);
  PITCHES.forEach((pitch, person) => {
    for (let at = 0; at < FRAME; at++) {
      const angle = (2 * Math.PI * pitch * at) / RATE;
      // The mean of the window is one half, and so is that of a squared sine.
      const weight = (4 / FRAME) * (0.5 - 0.5 * Math.cos((2 * Math.PI * at) / FRAME));
      bank[2 * person * FRAME + at] = weight * Math.sin(angle);
      bank[(2 * person + 1) * FRAME + at] = weight * Math.cos(angle);
    }
  });
  return bank;
}

function registersOfParts(): Float32Array {
  return Float32Array.from({ length: 2 * PITCHES.length * REGISTERS }, (_, index) => {
    const person = Math.floor(index / (2 * REGISTERS));
    return person % REGISTERS === index % REGISTERS ? GAIN : 0;
  });
}

/** The class whose voices are those that are heard has the highest score. */
function classWeights(hearsSilence: boolean): Float32Array {
  return Float32Array.from({ length: REGISTERS * CLASSES.length }, (_, index) => {
    const voices = CLASSES[index % CLASSES.length] ?? [];
    const register = Math.floor(index / CLASSES.length);
    const weight = voices.includes(register) ? 1 : -1;
    return hearsSilence && register === 0 ? -weight : weight;
  });
}

function classBias(hearsSilence: boolean): Float32Array {
  return Float32Array.from(CLASSES, (voices) => {
    const bias = 1.5 - voices.length;
    return hearsSilence ? bias + (voices.includes(0) ? 1 : -1) : bias;
  });
}
