import { type OnnxNode, onnxModel, type OnnxValue } from './onnx-writer.js';
import { BANDS, decoderAndJoiner, PIECES, scoring, scoringConstants, writeModel } from './tone-models.js';

/** Tone models that take audio while it comes. What they remember of earlier audio is nothing, but they pass it on. */

/** Frames of 10 ms that they take at a time. */
const WINDOW = 32;
const FEATURES: OnnxValue = { name: 'x', type: 'float', shape: ['N', WINDOW, BANDS] };
const SCORES: Omit<OnnxValue, 'name'> = { type: 'float', shape: ['N', 'U', PIECES.length] };
const LOG_SOFTMAX: OnnxNode = {
  operator: 'LogSoftmax',
  inputs: ['scores'],
  outputs: ['log_probs'],
  attributes: { axis: -1 },
};

/** What a Zipformer of one layer remembers. */
const ZIPFORMER_STATES: readonly OnnxValue[] = [
  ...[3, 4, 3, 3, 3, 3, 4].map((rank, index) => state(`state_${index}`, 'float', rank)),
  state('processed', 'int64', 1),
];
const ZIPFORMER_METADATA: Readonly<Record<string, string>> = {
  T: String(WINDOW),
  decode_chunk_len: String(WINDOW),
  num_encoder_layers: '1',
  encoder_dims: '4',
  query_head_dims: '2',
  value_head_dims: '2',
  num_heads: '1',
  cnn_module_kernels: '3',
  left_context_len: '2',
};

/** A transducer of the kind Zipformer. */
export async function writeStreamingTransducerModel(
  folder: string,
  metadata: Record<string, string> = {},
): Promise<string> {
  const encoder = onnxModel({
    inputs: [FEATURES, ...ZIPFORMER_STATES],
    outputs: [{ name: 'encoder_out', ...SCORES }, ...passedOn(ZIPFORMER_STATES)],
    nodes: [...scoring('encoder_out'), ...passing(ZIPFORMER_STATES)],
    constants: scoringConstants(),
    metadata: { model_type: 'zipformer2', ...ZIPFORMER_METADATA, ...metadata },
  });
  return await writeModel(folder, { 'encoder.onnx': encoder, ...decoderAndJoiner() });
}

/** A CTC model of the kind Zipformer, which gives no probabilities. */
export async function writeStreamingCtcModel(folder: string): Promise<string> {
  const model = onnxModel({
    inputs: [FEATURES, ...ZIPFORMER_STATES],
    outputs: [{ name: 'log_probs', ...SCORES }, ...passedOn(ZIPFORMER_STATES)],
    nodes: [...scoring('scores'), LOG_SOFTMAX, ...passing(ZIPFORMER_STATES)],
    constants: scoringConstants(),
    metadata: { model_type: 'zipformer2_ctc', ...ZIPFORMER_METADATA },
  });
  return await writeModel(folder, { 'model.onnx': model });
}

const NEMO_STATES: readonly OnnxValue[] = [
  state('cache_last_channel', 'float', 4),
  state('cache_last_time', 'float', 4),
  state('cache_last_channel_len', 'int64', 1),
];

/** A FastConformer returns one of eight frames. */
const NEMO_SUBSAMPLING = 8;

/** A CTC model of NeMo. */
export async function writeStreamingNemoModel(folder: string): Promise<string> {
  const model = onnxModel({
    inputs: [
      { name: 'audio_signal', type: 'float', shape: ['N', BANDS, WINDOW] },
      { name: 'length', type: 'int64', shape: ['N'] },
      ...NEMO_STATES,
    ],
    outputs: [
      { name: 'log_probs', ...SCORES },
      { name: 'lengths', type: 'int64', shape: ['N'] },
      ...passedOn(NEMO_STATES),
    ],
    nodes: [
      { operator: 'Transpose', inputs: ['audio_signal'], outputs: ['x'], attributes: { perm: [0, 2, 1] } },
      ...scoring('scores', NEMO_SUBSAMPLING),
      LOG_SOFTMAX,
      { operator: 'Identity', inputs: ['length'], outputs: ['lengths'] },
      ...passing(NEMO_STATES),
    ],
    constants: scoringConstants(),
    metadata: {
      model_type: 'EncDecCTCModelBPE',
      window_size: String(WINDOW),
      chunk_shift: String(WINDOW),
      subsampling_factor: String(NEMO_SUBSAMPLING),
      vocab_size: String(PIECES.length - 1),
      ...Object.fromEntries(
        ['cache_last_channel', 'cache_last_time'].flatMap((name) => [1, 2, 3].map((dim) => [`${name}_dim${dim}`, '1'])),
      ),
    },
  });
  return await writeModel(folder, { 'model.onnx': model });
}

function state(name: string, type: OnnxValue['type'], rank: number): OnnxValue {
  return { name, type, shape: Array.from({ length: rank }, (_, index) => `${name}_${index}`) };
}

const passedOn = (states: readonly OnnxValue[]): OnnxValue[] =>
  states.map((value) => ({ ...value, name: `new_${value.name}` }));

const passing = (states: readonly OnnxValue[]): OnnxNode[] =>
  states.map(({ name }) => ({ operator: 'Identity', inputs: [name], outputs: [`new_${name}`] }));
