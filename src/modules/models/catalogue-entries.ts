/** A model that can be downloaded: in the list that ships with the service, or in one of the operator's own. */
export interface CatalogueEntry {
  /** What `pull` and `use` take, and the name of its folder. */
  name: string;
  title: string;
  /** As the folder's files will tell it, for the list. */
  kind: string;
  /** Codes of languages; `any` for a model of hundreds. */
  languages: readonly string[] | 'any';
  /** Null: not confirmed, see the repository. */
  licence: Licence | null;
  speed: SpeedClass;
  /** Size of all files; null when no source states it. The exact size is read when the model is pulled. */
  approximateBytes: number | null;
  /** `owner/name` at the source. */
  repository: string;
  /** A commit, branch or tag. A branch is resolved to its commit when the model is pulled, and that is recorded. */
  revision: string;
  /** Paths in the repository. The files lie side by side in the model's folder. */
  files: readonly string[];
}

export interface Licence {
  name: string;
  /** Address of the text, or of the page that states it. */
  source: string;
}

/**
 * An estimate from size and design, not a measurement. A model that writes a text in one pass (CTC, transducer,
 * Paraformer, SenseVoice) is faster than one of the same size that writes it token by token (Whisper, Moonshine, Canary).
 */
export type SpeedClass = 'fast' | 'medium' | 'slow';

export const SPEED_CLASSES: readonly SpeedClass[] = ['fast', 'medium', 'slow'];

const mebibytes = (count: number): number => Math.round(count * 2 ** 20);

const WHISPER_LICENCE: Licence = { name: 'MIT', source: 'https://github.com/openai/whisper/blob/main/LICENSE' };
const MOONSHINE_LICENCE: Licence = {
  name: 'MIT',
  source: 'https://github.com/moonshine-ai/moonshine/blob/main/LICENSE',
};
const FUNASR_LICENCE: Licence = {
  name: 'FunASR Model License 1.0',
  source: 'https://github.com/modelscope/FunASR/blob/main/MODEL_LICENSE',
};
const ccBy = (model: string): Licence => ({
  name: 'CC-BY-4.0',
  source: `https://huggingface.co/nvidia/${model}`,
});

/** `all_language_codes` of the multilingual models: openai/whisper, tokenizer.py. Cantonese only in large-v3 and turbo. */
const WHISPER_LANGUAGES = (
  'en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml ' +
  'cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am ' +
  'yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jv su'
).split(' ');

/** The int8 files of a Whisper export, which is named after the model. */
function whisper(
  name: string,
  exported: string,
  fields: { title: string; speed: SpeedClass; approximateBytes: number; languages?: readonly string[] },
): CatalogueEntry {
  return {
    name,
    kind: 'whisper',
    languages: WHISPER_LANGUAGES,
    licence: WHISPER_LICENCE,
    repository: `csukuangfj/sherpa-onnx-whisper-${exported}`,
    revision: 'main',
    files: [`${exported}-encoder.int8.onnx`, `${exported}-decoder.int8.onnx`, `${exported}-tokens.txt`],
    ...fields,
  };
}

type Fields = Omit<CatalogueEntry, 'kind' | 'files' | 'revision'>;

const ctc = (kind: string, fields: Fields): CatalogueEntry => ({
  ...fields,
  kind,
  revision: 'main',
  files: ['model.int8.onnx', 'tokens.txt'],
});

const nemoTransducer = (
  fields: Fields,
  decoder = 'decoder.int8.onnx',
  joiner = 'joiner.int8.onnx',
): CatalogueEntry => ({
  ...fields,
  kind: 'nemo-transducer',
  revision: 'main',
  files: ['encoder.int8.onnx', decoder, joiner, 'tokens.txt'],
});

/** A zipformer transducer: file names carry the checkpoint. The decoder stays unquantised, as its authors use it. */
const zipformer = (
  fields: Fields,
  checkpoint: string,
  folders: { model: string; tokens: string } = { model: '', tokens: '' },
): CatalogueEntry => ({
  ...fields,
  kind: 'transducer',
  revision: 'main',
  files: [
    `${folders.model}encoder-${checkpoint}.int8.onnx`,
    `${folders.model}decoder-${checkpoint}.onnx`,
    `${folders.model}joiner-${checkpoint}.int8.onnx`,
    `${folders.tokens}tokens.txt`,
  ],
});

/** As above, for words while somebody speaks. */
const streamingZipformer = (fields: Fields, checkpoint: string): CatalogueEntry => ({
  ...zipformer(fields, checkpoint),
  kind: 'streaming-transducer',
});

/** English, second generation. Those of other languages have another licence, not for every commercial use. */
const moonshine = (fields: Fields): CatalogueEntry => ({
  ...fields,
  kind: 'moonshine-v2',
  revision: 'main',
  files: ['encoder_model.ort', 'decoder_model_merged.ort', 'tokens.txt'],
});

const PARAKEET_V3_LANGUAGES = 'bg hr cs da nl en et fi fr de el hu it lv lt mt pl pt ro sk sl es sv ru uk'.split(' ');

/** Many languages. */
const MULTILINGUAL: readonly CatalogueEntry[] = [
  whisper('whisper-tiny', 'tiny', { title: 'Whisper tiny', speed: 'fast', approximateBytes: mebibytes(98.8) }),
  whisper('whisper-base', 'base', { title: 'Whisper base', speed: 'medium', approximateBytes: 160_609_290 }),
  whisper('whisper-small', 'small', { title: 'Whisper small', speed: 'medium', approximateBytes: 375_485_327 }),
  whisper('whisper-medium', 'medium', { title: 'Whisper medium', speed: 'slow', approximateBytes: 946_072_270 }),
  whisper('whisper-turbo', 'turbo', {
    title: 'Whisper large-v3 turbo',
    speed: 'slow',
    approximateBytes: 1_036_613_791,
    languages: [...WHISPER_LANGUAGES, 'yue'],
  }),
  whisper('whisper-large-v3', 'large-v3', {
    title: 'Whisper large-v3',
    speed: 'slow',
    approximateBytes: mebibytes(962 + 732 + 0.8),
    languages: [...WHISPER_LANGUAGES, 'yue'],
  }),
  nemoTransducer({
    name: 'parakeet-tdt-0.6b-v3',
    title: 'NVIDIA Parakeet TDT 0.6B v3',
    languages: PARAKEET_V3_LANGUAGES,
    licence: ccBy('parakeet-tdt-0.6b-v3'),
    speed: 'medium',
    approximateBytes: 670_478_772,
    repository: 'csukuangfj/sherpa-onnx-nemo-parakeet-tdt-0.6b-v3-int8',
  }),
  {
    name: 'canary-180m-flash',
    title: 'NVIDIA Canary 180M flash',
    kind: 'canary',
    languages: ['en', 'es', 'de', 'fr'],
    licence: ccBy('canary-180m-flash'),
    speed: 'medium',
    approximateBytes: mebibytes(127 + 71 + 0.1),
    repository: 'csukuangfj/sherpa-onnx-nemo-canary-180m-flash-en-es-de-fr-int8',
    revision: 'main',
    files: ['encoder.int8.onnx', 'decoder.int8.onnx', 'tokens.txt'],
  },
  {
    name: 'cohere-transcribe',
    title: 'Cohere Transcribe 2B, 14 languages',
    kind: 'cohere-transcribe',
    languages: ['en', 'de', 'fr', 'it', 'es', 'pt', 'el', 'nl', 'pl', 'vi', 'zh', 'ar', 'ja', 'ko'],
    licence: { name: 'Apache-2.0', source: 'https://huggingface.co/CohereLabs/cohere-transcribe-03-2026' },
    speed: 'slow',
    approximateBytes: 2_888_052_036,
    repository: 'csukuangfj2/sherpa-onnx-cohere-transcribe-14-lang-int8-2026-04-01',
    revision: 'main',
    files: ['encoder.int8.onnx', 'encoder.int8.onnx.data', 'decoder.int8.onnx', 'tokens.txt'],
  },
  ctc('nemo-ctc', {
    name: 'fastconformer-eu',
    title: 'NVIDIA FastConformer, ten languages of Europe',
    languages: ['be', 'de', 'en', 'es', 'fr', 'hr', 'it', 'pl', 'ru', 'uk'],
    licence: null,
    speed: 'fast',
    approximateBytes: null,
    repository: 'csukuangfj/sherpa-onnx-nemo-fast-conformer-ctc-be-de-en-es-fr-hr-it-pl-ru-uk-20k-int8',
  }),
  ctc('sense-voice', {
    name: 'sense-voice',
    title: 'SenseVoice small',
    languages: ['zh', 'en', 'ja', 'ko', 'yue'],
    licence: FUNASR_LICENCE,
    speed: 'fast',
    approximateBytes: mebibytes(228 + 0.3),
    repository: 'csukuangfj/sherpa-onnx-sense-voice-zh-en-ja-ko-yue-2024-07-17',
  }),
  ctc('dolphin', {
    name: 'dolphin-base',
    title: 'Dolphin base, languages of Asia',
    languages: 'any',
    licence: { name: 'Apache-2.0', source: 'https://github.com/DataoceanAI/Dolphin#license' },
    speed: 'fast',
    approximateBytes: mebibytes(99 + 0.5),
    repository: 'csukuangfj/sherpa-onnx-dolphin-base-ctc-multi-lang-int8-2025-04-02',
  }),
  ctc('dolphin', {
    name: 'dolphin-small',
    title: 'Dolphin small, languages of Asia',
    languages: 'any',
    licence: { name: 'Apache-2.0', source: 'https://github.com/DataoceanAI/Dolphin#license' },
    speed: 'medium',
    approximateBytes: mebibytes(239 + 0.5),
    repository: 'csukuangfj/sherpa-onnx-dolphin-small-ctc-multi-lang-int8-2025-04-02',
  }),
  ctc('omnilingual', {
    name: 'omnilingual-300m',
    title: 'Omnilingual ASR 300M, 1,600 languages',
    languages: 'any',
    licence: null,
    speed: 'medium',
    approximateBytes: mebibytes(348 + 0.1),
    repository: 'csukuangfj/sherpa-onnx-omnilingual-asr-1600-languages-300M-ctc-int8-2025-11-12',
  }),
];

const ENGLISH: readonly CatalogueEntry[] = [
  whisper('whisper-small.en', 'small.en', {
    title: 'Whisper small, English only',
    speed: 'medium',
    approximateBytes: 375_501_079,
    languages: ['en'],
  }),
  moonshine({
    name: 'moonshine-tiny-en',
    title: 'Moonshine tiny, English',
    languages: ['en'],
    licence: MOONSHINE_LICENCE,
    speed: 'fast',
    approximateBytes: 44_243_206,
    repository: 'csukuangfj2/sherpa-onnx-moonshine-tiny-en-quantized-2026-02-27',
  }),
  moonshine({
    name: 'moonshine-base-en',
    title: 'Moonshine base, English',
    languages: ['en'],
    licence: MOONSHINE_LICENCE,
    speed: 'fast',
    approximateBytes: mebibytes(105 + 30 + 0.5),
    repository: 'csukuangfj2/sherpa-onnx-moonshine-base-en-quantized-2026-02-27',
  }),
  nemoTransducer({
    name: 'parakeet-tdt-0.6b-v2',
    title: 'NVIDIA Parakeet TDT 0.6B v2',
    languages: ['en'],
    licence: ccBy('parakeet-tdt-0.6b-v2'),
    speed: 'medium',
    approximateBytes: 661_190_513,
    repository: 'csukuangfj/sherpa-onnx-nemo-parakeet-tdt-0.6b-v2-int8',
  }),
  nemoTransducer({
    name: 'parakeet-unified-0.6b-en',
    title: 'NVIDIA Parakeet unified 0.6B, English',
    languages: ['en'],
    licence: null,
    speed: 'medium',
    approximateBytes: 663_043_117,
    repository: 'csukuangfj2/sherpa-onnx-nemo-parakeet-unified-en-0.6b-int8-non-streaming',
  }),
  ctc('nemo-ctc', {
    name: 'parakeet-110m-en',
    title: 'NVIDIA Parakeet TDT-CTC 110M',
    languages: ['en'],
    licence: null,
    speed: 'fast',
    approximateBytes: mebibytes(126),
    repository: 'csukuangfj/sherpa-onnx-nemo-parakeet_tdt_ctc_110m-en-36000-int8',
  }),
];

/** One language, or one and English. */
const OTHERS: readonly CatalogueEntry[] = [
  ctc('nemo-ctc', {
    name: 'fastconformer-de',
    title: 'NVIDIA FastConformer, German',
    languages: ['de'],
    licence: ccBy('stt_de_fastconformer_hybrid_large_pc'),
    speed: 'fast',
    approximateBytes: 132_000_000,
    repository: 'csukuangfj/sherpa-onnx-nemo-stt_de_fastconformer_hybrid_large_pc-int8',
  }),
  ctc('nemo-ctc', {
    name: 'fastconformer-es',
    title: 'NVIDIA FastConformer, Spanish',
    languages: ['es'],
    licence: ccBy('stt_es_fastconformer_hybrid_large_pc'),
    speed: 'fast',
    approximateBytes: mebibytes(126),
    repository: 'csukuangfj/sherpa-onnx-nemo-fast-conformer-ctc-es-1424-int8',
  }),
  ctc('nemo-ctc', {
    name: 'fastconformer-pt',
    title: 'NVIDIA FastConformer, Portuguese',
    languages: ['pt'],
    licence: null,
    speed: 'fast',
    approximateBytes: 131_000_000,
    repository: 'csukuangfj/sherpa-onnx-nemo-stt_pt_fastconformer_hybrid_large_pc-int8',
  }),
  nemoTransducer(
    {
      name: 'gigaam-v3-ru',
      title: 'GigaAM v3, Russian with punctuation',
      languages: ['ru'],
      licence: { name: 'MIT', source: 'https://github.com/salute-developers/GigaAM/blob/main/LICENSE' },
      speed: 'fast',
      approximateBytes: 232_000_000,
      repository: 'csukuangfj/sherpa-onnx-nemo-transducer-punct-giga-am-v3-russian-2025-12-16',
    },
    'decoder.onnx',
    'joiner.onnx',
  ),
  ctc('nemo-ctc', {
    name: 'parakeet-0.6b-ja',
    title: 'NVIDIA Parakeet TDT-CTC 0.6B, Japanese',
    languages: ['ja'],
    licence: null,
    speed: 'medium',
    approximateBytes: mebibytes(625),
    repository: 'csukuangfj/sherpa-onnx-nemo-parakeet-tdt_ctc-0.6b-ja-35000-int8',
  }),
  zipformer(
    {
      name: 'zipformer-ja',
      title: 'ReazonSpeech k2 v2, Japanese',
      languages: ['ja'],
      licence: { name: 'Apache-2.0', source: 'https://huggingface.co/reazon-research/reazonspeech-k2-v2' },
      speed: 'fast',
      approximateBytes: mebibytes(148 + 11 + 2.6),
      repository: 'reazon-research/reazonspeech-k2-v2',
    },
    'epoch-99-avg-1',
  ),
  zipformer(
    {
      name: 'zipformer-ko',
      title: 'Zipformer, Korean',
      languages: ['ko'],
      licence: null,
      speed: 'fast',
      approximateBytes: mebibytes(68 + 11 + 2.5 + 0.1),
      repository: 'k2-fsa/sherpa-onnx-zipformer-korean-2024-06-24',
    },
    'epoch-99-avg-1',
  ),
  zipformer(
    {
      name: 'zipformer-th',
      title: 'Zipformer GigaSpeech 2, Thai',
      languages: ['th'],
      licence: null,
      speed: 'fast',
      approximateBytes: mebibytes(148 + 4.9 + 1),
      repository: 'yfyeung/icefall-asr-gigaspeech2-th-zipformer-2024-06-20',
    },
    'epoch-12-avg-5',
    { model: 'exp/', tokens: 'data/lang_bpe_2000/' },
  ),
  zipformer(
    {
      name: 'zipformer-yue',
      title: 'Zipformer MDCC, Cantonese',
      languages: ['yue'],
      licence: null,
      speed: 'fast',
      approximateBytes: mebibytes(67 + 11 + 2.4),
      repository: 'zrjin/icefall-asr-mdcc-zipformer-2024-03-11',
    },
    'epoch-45-avg-35',
    { model: 'exp/', tokens: 'data/lang_char/' },
  ),
  ctc('paraformer', {
    name: 'paraformer-zh',
    title: 'Paraformer, Chinese and English',
    languages: ['zh', 'en'],
    licence: FUNASR_LICENCE,
    speed: 'fast',
    approximateBytes: mebibytes(217 + 0.1),
    repository: 'csukuangfj/sherpa-onnx-paraformer-zh-2024-03-09',
  }),
  ctc('paraformer', {
    name: 'paraformer-zh-small',
    title: 'Paraformer small, Chinese and English',
    languages: ['zh', 'en'],
    licence: FUNASR_LICENCE,
    speed: 'fast',
    approximateBytes: mebibytes(79 + 0.1),
    repository: 'csukuangfj/sherpa-onnx-paraformer-zh-small-2024-03-09',
  }),
];

/** For words while somebody speaks. */
const STREAMING: readonly CatalogueEntry[] = [
  streamingZipformer(
    {
      name: 'streaming-zipformer-en',
      title: 'Streaming Zipformer LibriSpeech, English',
      languages: ['en'],
      licence: {
        name: 'Apache-2.0',
        source: 'https://huggingface.co/csukuangfj/sherpa-onnx-streaming-zipformer-en-2023-06-26',
      },
      speed: 'fast',
      approximateBytes: 73_440_000,
      repository: 'csukuangfj/sherpa-onnx-streaming-zipformer-en-2023-06-26',
    },
    'epoch-99-avg-1-chunk-16-left-128',
  ),
  streamingZipformer(
    {
      name: 'streaming-zipformer-zh-en',
      title: 'Streaming Zipformer, Chinese and English',
      languages: ['zh', 'en'],
      licence: {
        name: 'Apache-2.0',
        source: 'https://huggingface.co/csukuangfj/sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20',
      },
      speed: 'medium',
      approximateBytes: mebibytes(174 + 14 + 3.1),
      repository: 'csukuangfj/sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20',
    },
    'epoch-99-avg-1',
  ),
  streamingZipformer(
    {
      name: 'streaming-zipformer-fr',
      title: 'Streaming Zipformer Common Voice, French',
      languages: ['fr'],
      licence: null,
      speed: 'medium',
      approximateBytes: mebibytes(121 + 2 + 0.3),
      repository: 'shaojieli/sherpa-onnx-streaming-zipformer-fr-2023-04-14',
    },
    'epoch-29-avg-9-with-averaged-model',
  ),
  {
    name: 'streaming-zipformer-de',
    title: 'Streaming Zipformer Kroko, German',
    kind: 'streaming-transducer',
    languages: ['de'],
    licence: null,
    speed: 'fast',
    approximateBytes: null,
    repository: 'csukuangfj/sherpa-onnx-streaming-zipformer-de-kroko-2025-08-06',
    revision: 'main',
    files: ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'tokens.txt'],
  },
];

/**
 * Models that sherpa-onnx 1.13 loads. Repositories and names of files were confirmed in the documentation and the export
 * workflows of sherpa-onnx (github.com/k2-fsa/sherpa 6e00e3b, github.com/k2-fsa/sherpa-onnx 634265c, August 2026) and in
 * programs that download them. Sizes are sums of what that documentation lists (rounded to a megabyte or less), or of
 * the bytes that several such programs state; they are approximate, and `pull` reads the exact ones from the source.
 */
export const CATALOGUE: readonly CatalogueEntry[] = [...MULTILINGUAL, ...ENGLISH, ...OTHERS, ...STREAMING];
