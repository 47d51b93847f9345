import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type OnnxConstant, type OnnxNode, onnxModel, type OnnxValue } from './onnx-writer.js';

/**
 * Models of a few kilobytes for the real recogniser that hear tones: each piece of a word is a tone. A piece that begins
 * with `▁` begins a word.
 */

/** In Hz, by the pieces. They are far apart in the 80 mel bands that the recogniser computes. */
const TONES: Readonly<Record<string, number>> = {
  '▁go': 500,
  '▁forward': 900,
  '▁ten': 1400,
  '▁met': 2000,
  ers: 2800,
  '▁stop': 3800,
};

export const PIECES = ['<blk>', ...Object.keys(TONES)];
export const BANDS = 80;
/** The recogniser's frames are 10 ms apart; these models return one of four. */
const SUBSAMPLING = 4;
/** Above: the band of a tone at a tenth of full scale. Below: silence, and what a tone spreads over other bands. */
const LOUD = 0;
/** Enough that a piece is certain (log probability > −0.01) while its tone sounds. */
const GAIN = 1.5;

const LENGTH_NODE: OnnxNode = { operator: 'Div', inputs: ['x_lens', 'subsampling'], outputs: ['lengths'] };
const FEATURES: OnnxValue = { name: 'x', type: 'float', shape: ['N', 'T', BANDS] };
const LENGTHS: OnnxValue = { name: 'x_lens', type: 'int64', shape: ['N'] };

/** A CTC model of the kind Zipformer, which gives times but no probabilities. */
export async function writeCtcModel(folder: string, metadata: Record<string, string> = {}): Promise<string> {
  const model = onnxModel({
    inputs: [FEATURES, LENGTHS],
    outputs: [
      { name: 'log_probs', type: 'float', shape: ['N', 'U', PIECES.length] },
      { name: 'lengths', type: 'int64', shape: ['N'] },
    ],
    nodes: [
      ...scoring('scores'),
      LENGTH_NODE,
      { operator: 'LogSoftmax', inputs: ['scores'], outputs: ['log_probs'], attributes: { axis: -1 } },
    ],
    constants: scoringConstants(),
    metadata: { model_type: 'zipformer2_ctc', ...metadata },
  });
  return await writeModel(folder, { 'model.onnx': model });
}

/** A transducer, which gives times and probabilities and knows hot words. It emits no piece twice in a row. */
export async function writeTransducerModel(folder: string): Promise<string> {
  const encoder = onnxModel({
    inputs: [FEATURES, LENGTHS],
    outputs: [
      { name: 'encoder_out', type: 'float', shape: ['N', 'U', PIECES.length] },
      { name: 'lengths', type: 'int64', shape: ['N'] },
    ],
    nodes: [...scoring('encoder_out'), LENGTH_NODE],
    constants: scoringConstants(),
    metadata: { model_type: 'zipformer2' },
  });
  await writeFile(path.join(await emptyFolder(folder), 'bpe.vocab'), pieceScores());
  return await writeModel(folder, { 'encoder.onnx': encoder, ...decoderAndJoiner() });
}

/** The parts of a transducer that know which piece came before. */
export function decoderAndJoiner(): Record<'decoder.onnx' | 'joiner.onnx', Buffer> {
  const joined = { type: 'float', shape: ['N', PIECES.length] } as const;
  const decoder = onnxModel({
    inputs: [{ name: 'y', type: 'int64', shape: ['N', 2] }],
    outputs: [{ name: 'decoder_out', ...joined }],
    nodes: [
      { operator: 'Gather', inputs: ['y', 'last'], outputs: ['piece'], attributes: { axis: 1 } },
      { operator: 'Gather', inputs: ['refusals', 'piece'], outputs: ['decoder_out'], attributes: { axis: 0 } },
    ],
    constants: [
      { name: 'last', shape: [], data: BigInt64Array.of(1n) },
      { name: 'refusals', shape: [PIECES.length, PIECES.length], data: refusals() },
    ],
    metadata: { vocab_size: String(PIECES.length), context_size: '2' },
  });
  const joiner = onnxModel({
    inputs: [
      { name: 'encoder_out', ...joined },
      { name: 'decoder_out', ...joined },
    ],
    outputs: [{ name: 'logit', ...joined }],
    nodes: [{ operator: 'Add', inputs: ['encoder_out', 'decoder_out'], outputs: ['logit'] }],
    metadata: { joiner_dim: String(PIECES.length) },
  });
  return { 'decoder.onnx': decoder, 'joiner.onnx': joiner };
}

/** The tones of pieces, each `seconds` long with as long a silence after it, after `lead` seconds of silence. */
export function tonesPcm(
  pieces: readonly string[],
  { seconds = 0.2, lead = 0.2, level = 0.5 }: { seconds?: number; lead?: number; level?: number } = {},
): Buffer {
  const rate = 16_000;
  const step = Math.round(2 * seconds * rate);
  const start = Math.round(lead * rate);
  const pcm = new Int16Array(start + pieces.length * step);
  pieces.forEach((piece, index) => {
    const frequency = TONES[piece] ?? 0;
    for (let sample = 0; sample < step / 2; sample++) {
      pcm[start + index * step + sample] = Math.round(
        32_767 * level * Math.sin((2 * Math.PI * frequency * sample) / rate),
      );
    }
  });
  return Buffer.from(pcm.buffer);
}

export async function writeModel(folder: string, files: Record<string, Buffer>): Promise<string> {
  await emptyFolder(folder);
  await writeFile(path.join(folder, 'tokens.txt'), PIECES.map((piece, index) => `${piece} ${index}\n`).join(''));
  for (const [name, bytes] of Object.entries(files)) await writeFile(path.join(folder, name), bytes);
  return folder;
}

async function emptyFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  return folder;
}

/**
 * Averages frames of `x`, then one score for each piece: high while its tone sounds. The blank's score is 0.
 */
export function scoring(scores: string, subsampling = SUBSAMPLING): OnnxNode[] {
  return [
    { operator: 'Transpose', inputs: ['x'], outputs: ['bands'], attributes: { perm: [0, 2, 1] } },
    {
      operator: 'AveragePool',
      inputs: ['bands'],
      outputs: ['pooled'],
      attributes: { kernel_shape: [subsampling], strides: [subsampling] },
    },
    { operator: 'Transpose', inputs: ['pooled'], outputs: ['frames'], attributes: { perm: [0, 2, 1] } },
    { operator: 'MatMul', inputs: ['frames', 'weights'], outputs: ['weighted'] },
    { operator: 'Add', inputs: ['weighted', 'bias'], outputs: [scores] },
  ];
}

export function scoringConstants(): OnnxConstant[] {
  const weights = new Float32Array(BANDS * PIECES.length);
  Object.values(TONES).forEach((frequency, index) => {
    weights[bandOf(frequency) * PIECES.length + index + 1] = GAIN;
  });
  const bias = Float32Array.from(PIECES, (_, index) => (index === 0 ? 0 : -GAIN * LOUD));
  return [
    { name: 'weights', shape: [BANDS, PIECES.length], data: weights },
    { name: 'bias', shape: [PIECES.length], data: bias },
    { name: 'subsampling', shape: [], data: BigInt64Array.of(BigInt(SUBSAMPLING)) },
  ];
}

function refusals(): Float32Array {
  const count = PIECES.length;
  return Float32Array.from({ length: count * count }, (_, index) =>
    index > 0 && index % (count + 1) === 0 ? -100 : 0,
  );
}

/** For hot words: every piece as likely as any other. */
function pieceScores(): string {
  return PIECES.map((piece, index) => `${piece}\t${index === 0 ? 0 : -index}\n`).join('');
}

/** The mel band in whose middle a frequency lies, of 80 between 20 and 7600 Hz. */
function bandOf(frequency: number): number {
  const mel = (hertz: number): number => 1127 * Math.log(1 + hertz / 700);
  return Math.round(((mel(frequency) - mel(20)) / (mel(7600) - mel(20))) * (BANDS + 1)) - 1;
}
