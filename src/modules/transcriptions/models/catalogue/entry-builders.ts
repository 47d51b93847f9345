import type { CatalogueEntry, Licence, SpeedClass } from './catalogue-entry.js';

export const mebibytes = (count: number): number => Math.round(count * 2 ** 20);

const WHISPER_LICENCE: Licence = { name: 'MIT', source: 'https://github.com/openai/whisper/blob/main/LICENSE' };
export const MOONSHINE_LICENCE: Licence = {
  name: 'MIT',
  source: 'https://github.com/moonshine-ai/moonshine/blob/main/LICENSE',
};
export const FUNASR_LICENCE: Licence = {
  name: 'FunASR Model License 1.0',
  source: 'https://github.com/modelscope/FunASR/blob/main/MODEL_LICENSE',
};
export const ccBy = (model: string): Licence => ({
  name: 'CC-BY-4.0',
  source: `https://huggingface.co/nvidia/${model}`,
});

/** `all_language_codes` of the multilingual models: openai/whisper, tokenizer.py. Cantonese only in large-v3 and turbo. */
export const WHISPER_LANGUAGES = (
  'en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml ' +
  'cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am ' +
  'yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jv su'
).split(' ');

/** The int8 files of a Whisper export, which is named after the model. */
export function whisper(
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

export const ctc = (kind: string, fields: Fields): CatalogueEntry => ({
  ...fields,
  kind,
  revision: 'main',
  files: ['model.int8.onnx', 'tokens.txt'],
});

export const nemoTransducer = (
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
export const zipformer = (
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

/** English, second generation. Those of other languages have another licence, not for every commercial use. */
export const moonshine = (fields: Fields): CatalogueEntry => ({
  ...fields,
  kind: 'moonshine-v2',
  revision: 'main',
  files: ['encoder_model.ort', 'decoder_model_merged.ort', 'tokens.txt'],
});
