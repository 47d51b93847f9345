import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onnxModel } from './onnx-writer.js';

/**
 * A model of the kind Whisper that says the same in every chunk, as French unless told otherwise, in two segments. Its
 * tokens are bytes of UTF-8, parts of characters among them.
 */
export const SCRIPT_SEGMENTS = [
  { text: 'Une tête', start: 0, end: 2 },
  { text: 'dure.', start: 4, end: 5 },
] as const;

const PIECES: readonly Buffer[] = [
  Buffer.from(' Une'),
  Buffer.from(' t'),
  Buffer.of(0xc3),
  Buffer.of(0xaa),
  Buffer.from('te'),
  Buffer.from(' dure'),
  Buffer.from('.'),
];
/** Of the pieces. */
const SEGMENTS = [
  [0, 1, 2, 3, 4],
  [5, 6],
];
const [END, START, ENGLISH, FRENCH, TRANSLATE, TRANSCRIBE, NO_SPEECH, NO_TIMES, FIRST_TIME] = Array.from(
  { length: 9 },
  (_, index) => PIECES.length + index,
) as [number, number, number, number, number, number, number, number, number];
const TIMES_PER_SECOND = 50;
const SYMBOLS = FIRST_TIME + 30 * TIMES_PER_SECOND + 1;
const CONTEXT = 64;
const STATE = 4;
/** Of the symbol that comes next; 0 of the others. */
const CERTAIN = 40;

export async function writeScriptedWhisper(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const lines = PIECES.map((piece, index) => `${piece.toString('base64')} ${index}\n`);
  await writeFile(path.join(folder, 'script-tokens.txt'), lines.join(''));
  await writeFile(path.join(folder, 'script-encoder.onnx'), encoder());
  await writeFile(path.join(folder, 'script-decoder.onnx'), decoder());
  return folder;
}

function encoder(): Buffer {
  const output = { type: 'float', shape: ['N', 1, 'T'] } as const;
  return onnxModel({
    inputs: [{ name: 'mel', type: 'float', shape: ['N', 80, 'T'] }],
    outputs: [
      { name: 'cross_k', ...output },
      { name: 'cross_v', ...output },
    ],
    nodes: [
      { operator: 'ReduceMean', inputs: ['mel'], outputs: ['cross_k'], attributes: { axes: [1], keepdims: 1 } },
      { operator: 'ReduceMax', inputs: ['mel'], outputs: ['cross_v'], attributes: { axes: [1], keepdims: 1 } },
    ],
    metadata: {
      model_type: 'whisper-script',
      n_mels: '80',
      n_text_layer: '1',
      n_text_ctx: String(CONTEXT),
      n_text_state: String(STATE),
      n_vocab: String(SYMBOLS),
      sot: String(START),
      eot: String(END),
      blank_id: '0',
      translate: String(TRANSLATE),
      transcribe: String(TRANSCRIBE),
      is_multilingual: '1',
      no_timestamps: String(NO_TIMES),
      no_speech: String(NO_SPEECH),
      sot_sequence: [START, ENGLISH, TRANSCRIBE].join(','),
      all_language_tokens: [ENGLISH, FRENCH].join(','),
      all_language_codes: 'en,fr',
    },
  });
}

/** The row of a table for each position in the text. */
function decoder(): Buffer {
  const cache = { type: 'float', shape: [1, 'N', CONTEXT, STATE] } as const;
  const cross = { type: 'float', shape: ['N', 1, 'T'] } as const;
  return onnxModel({
    inputs: [
      { name: 'tokens', type: 'int64', shape: ['N', 'L'] },
      { name: 'in_k', ...cache },
      { name: 'in_v', ...cache },
      { name: 'cross_k', ...cross },
      { name: 'cross_v', ...cross },
      { name: 'offset', type: 'int64', shape: [1] },
    ],
    outputs: [
      { name: 'logits', type: 'float', shape: ['N', 'L', SYMBOLS] },
      { name: 'out_k', ...cache },
      { name: 'out_v', ...cache },
    ],
    nodes: [
      { operator: 'Identity', inputs: ['in_k'], outputs: ['out_k'] },
      { operator: 'Identity', inputs: ['in_v'], outputs: ['out_v'] },
      { operator: 'Shape', inputs: ['tokens'], outputs: ['shape'] },
      { operator: 'Gather', inputs: ['shape', 'one'], outputs: ['length'], attributes: { axis: 0 } },
      { operator: 'Range', inputs: ['zero', 'length', 'one'], outputs: ['range'] },
      { operator: 'Add', inputs: ['range', 'offset'], outputs: ['positions'] },
      { operator: 'Gather', inputs: ['table', 'positions'], outputs: ['rows'], attributes: { axis: 0 } },
      { operator: 'Unsqueeze', inputs: ['rows', 'first'], outputs: ['logits'] },
    ],
    constants: [
      { name: 'zero', shape: [], data: BigInt64Array.of(0n) },
      { name: 'one', shape: [], data: BigInt64Array.of(1n) },
      { name: 'first', shape: [1], data: BigInt64Array.of(0n) },
      { name: 'table', shape: [CONTEXT, SYMBOLS], data: table() },
    ],
  });
}

function table(): Float32Array {
  const time = (seconds: number): number => FIRST_TIME + seconds * TIMES_PER_SECOND;
  const said = SCRIPT_SEGMENTS.flatMap(({ start, end }, index) => [time(start), ...(SEGMENTS[index] ?? []), time(end)]);
  // The language is decided after the first symbol, and the text begins after the third.
  const script = [FRENCH, END, ...said];
  const rows = new Float32Array(CONTEXT * SYMBOLS);
  for (let position = 0; position < CONTEXT; position++) rows[position * SYMBOLS + (script[position] ?? END)] = CERTAIN;
  return rows;
}
