/** What a file is for, by its name: exporters use these names, with or without the model's name before and `.int8` after. */
export const FILE_ROLES = {
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

export type FileRole = keyof typeof FILE_ROLES;

/** Properties of the encoder, or of the only model file. */
export type Metadata = ReadonlyMap<string, string>;

/** The part of sherpa-onnx's `modelConfig` that differs between kinds. */
export type KindSettings = Record<string, string | Record<string, string | number>>;

export interface StreamingProperties {
  /** Names the number of frames of 10 ms that it takes at a time. */
  window: string;
  /** Names how many of them become one that it returns, where sherpa-onnx takes that for four when it tells times. */
  step?: string;
}

interface KindOfModel {
  /** Its `model_type`. Absent: the names of its files tell it. */
  type?: RegExp;
  /** Its files beside the tokens. The first one has the properties. */
  parts: readonly [FileRole, ...FileRole[]];
  /** It emits a blank symbol between others, and stops the process when its tokens file names none. */
  needsBlank?: boolean;
  /** It decodes audio while it comes. */
  streaming?: StreamingProperties;
  /** Codes of the languages of every model of this kind, where its properties do not tell them. */
  languages?: readonly string[];
  /** @param files absolute paths of its parts */
  settings: (files: Readonly<Record<FileRole, string>>, metadata: Metadata) => KindSettings;
}

const SINGLE_FILE = ['model'] as const;
const ENCODER_DECODER = ['encoder', 'decoder'] as const;
const TRANSDUCER = ['encoder', 'decoder', 'joiner'] as const;

const KINDS = {
  canary: {
    type: /^EncDecMultiTaskModel$/,
    parts: ENCODER_DECODER,
    languages: ['en', 'es', 'de', 'fr'],
    settings: ({ encoder, decoder }) => ({ canary: { encoder, decoder, srcLang: 'en', tgtLang: 'en', usePnc: 1 } }),
  },
  'cohere-transcribe': {
    type: /cohere-transcribe/,
    parts: ENCODER_DECODER,
    settings: ({ encoder, decoder }) => ({ cohereTranscribe: { encoder, decoder, usePunct: 1, useItn: 1 } }),
  },
  dolphin: {
    type: /dolphin/i,
    parts: SINGLE_FILE,
    needsBlank: true,
    settings: ({ model }) => ({ dolphin: { model } }),
  },
  'fire-red-asr': {
    type: /^fire-?red/i,
    parts: ENCODER_DECODER,
    languages: ['zh', 'en'],
    settings: ({ encoder, decoder }) => ({ fireRedAsr: { encoder, decoder } }),
  },
  'fire-red-asr-ctc': {
    type: /^fire-red-asr-2-ctc$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    languages: ['zh', 'en'],
    settings: ({ model }) => ({ fireRedAsrCtc: { model } }),
  },
  medasr: {
    type: /^medasr_ctc$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    languages: ['en'],
    settings: ({ model }) => ({ medasr: { model } }),
  },
  moonshine: {
    parts: ['preprocessor', 'moonshineEncoder', 'uncachedDecoder', 'cachedDecoder'],
    languages: ['en'],
    settings: ({ preprocessor, moonshineEncoder, uncachedDecoder, cachedDecoder }) => ({
      moonshine: { preprocessor, encoder: moonshineEncoder, uncachedDecoder, cachedDecoder },
    }),
  },
  'moonshine-v2': {
    parts: ['encoder', 'mergedDecoder'],
    settings: ({ encoder, mergedDecoder }) => ({ moonshine: { encoder, mergedDecoder } }),
  },
  'nemo-ctc': {
    type: /^EncDec(CTCModel|CTCModelBPE|HybridRNNTCTCBPEModel)$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    settings: ({ model }) => ({ nemoCtc: { model } }),
  },
  'nemo-transducer': {
    type: /^EncDec(HybridRNNTCTC|RNNT)(BPE)?Model$/,
    parts: TRANSDUCER,
    needsBlank: true,
    settings: ({ encoder, decoder, joiner }) => ({
      transducer: { encoder, decoder, joiner },
      modelType: 'nemo_transducer',
    }),
  },
  omnilingual: {
    type: /^omnilingual/,
    parts: SINGLE_FILE,
    settings: ({ model }) => ({ omnilingual: { model } }),
  },
  paraformer: {
    type: /^paraformer$/,
    parts: SINGLE_FILE,
    settings: ({ model }) => ({ paraformer: { model } }),
  },
  'sense-voice': {
    type: /^sense_voice/,
    parts: SINGLE_FILE,
    languages: ['zh', 'en', 'ja', 'ko', 'yue'],
    settings: ({ model }) => ({ senseVoice: { model, language: 'auto', useInverseTextNormalization: 1 } }),
  },
  'streaming-nemo-ctc': {
    type: /^EncDec(CTCModel|CTCModelBPE|HybridRNNTCTCBPEModel)$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    streaming: { window: 'window_size', step: 'subsampling_factor' },
    settings: ({ model }) => ({ nemoCtc: { model } }),
  },
  'streaming-nemo-transducer': {
    type: /^EncDec(HybridRNNTCTC|RNNT)(BPE)?Model$/,
    parts: TRANSDUCER,
    needsBlank: true,
    streaming: { window: 'window_size' },
    settings: ({ encoder, decoder, joiner }) => ({ transducer: { encoder, decoder, joiner } }),
  },
  'streaming-transducer': {
    type: /^(conformer|lstm|zipformer2?)$/,
    parts: TRANSDUCER,
    streaming: { window: 'T' },
    settings: ({ encoder, decoder, joiner }) => ({ transducer: { encoder, decoder, joiner } }),
  },
  'streaming-zipformer-ctc': {
    type: /^zipformer2_ctc$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    streaming: { window: 'T' },
    settings: ({ model }) => ({ zipformer2Ctc: { model } }),
  },
  'telespeech-ctc': {
    type: /^telespeech_ctc$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    languages: ['zh', 'en'],
    settings: ({ model }) => ({ teleSpeechCtc: model, modelType: 'telespeech_ctc' }),
  },
  transducer: {
    type: /^(conformer|zipformer2?)$/,
    parts: TRANSDUCER,
    settings: ({ encoder, decoder, joiner }) => ({ transducer: { encoder, decoder, joiner }, modelType: 'transducer' }),
  },
  'wenet-ctc': {
    type: /^wenet_ctc$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    settings: ({ model }) => ({ wenetCtc: { model } }),
  },
  whisper: {
    type: /^whisper/,
    parts: ENCODER_DECODER,
    settings: ({ encoder, decoder }, metadata) => ({
      whisper: { encoder, decoder, task: 'transcribe', ...whisperTimes(metadata) },
    }),
  },
  'zipformer-ctc': {
    type: /^zipformer2?_ctc$/,
    parts: SINGLE_FILE,
    needsBlank: true,
    settings: ({ model }) => ({ zipformerCtc: { model } }),
  },
} satisfies Record<string, KindOfModel>;

export type ModelKind = keyof typeof KINDS;

/** The kinds of models that sherpa-onnx loads. */
export const MODEL_KINDS: Readonly<Record<ModelKind, KindOfModel>> = KINDS;

/** Whether a model decodes audio while it comes: only such a one has these properties. */
export const isStreaming = (metadata: Metadata): boolean =>
  ['decode_chunk_len', 'chunk_shift'].some((name) => metadata.has(name));

/** The kind with these properties, among those whose first part is this file. */
export function kindOfMetadata(metadata: Metadata, firstPart: FileRole): ModelKind | undefined {
  const type = metadata.get('model_type') ?? '';
  const streams = isStreaming(metadata);
  const kinds = Object.entries(MODEL_KINDS) as [ModelKind, KindOfModel][];
  const fits = ({ parts, streaming, type: types }: KindOfModel): boolean =>
    parts[0] === firstPart && (streaming !== undefined) === streams && types?.test(type) === true;
  return kinds.find(([, kind]) => fits(kind))?.[0];
}

/** Times of tokens need an export with the attention; those of segments come with every model, but not beside the others. */
function whisperTimes(metadata: Metadata): Record<string, number> {
  const hasAttention = Number(metadata.get('n_alignment_heads') ?? 0) > 0;
  return hasAttention ? { enableTokenTimestamps: 1 } : { enableSegmentTimestamps: 1 };
}
