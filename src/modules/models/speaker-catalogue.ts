import type { CatalogueEntry, Licence } from './catalogue-entries.js';

const THREE_D_SPEAKER: Licence = {
  name: 'Apache-2.0',
  source: 'https://github.com/modelscope/3D-Speaker/blob/main/LICENSE',
};

/** One of the embeddings of sherpa-onnx, which share a repository. */
const embedding = (
  file: string,
  fields: Pick<CatalogueEntry, 'name' | 'title' | 'licence' | 'speed' | 'approximateBytes'>,
): CatalogueEntry => ({
  ...fields,
  kind: 'speaker-embedding',
  languages: 'any',
  repository: 'csukuangfj/speaker-embedding-models',
  revision: 'main',
  files: [`${file}.onnx`],
});

/**
 * Models that tell speakers apart, one of each kind of which is needed. Their licences allow commercial use. Repositories,
 * names and sizes are those that sherpa-onnx's documentation of speaker diarization and the pages of the repositories list.
 */
export const SPEAKER_CATALOGUE: readonly CatalogueEntry[] = [
  {
    name: 'pyannote-segmentation-3.0',
    title: 'pyannote segmentation 3.0',
    kind: 'speaker-segmentation',
    languages: 'any',
    licence: { name: 'MIT', source: 'https://huggingface.co/pyannote/segmentation-3.0' },
    speed: 'fast',
    approximateBytes: 5_990_000,
    repository: 'csukuangfj/sherpa-onnx-pyannote-segmentation-3-0',
    revision: 'main',
    files: ['model.onnx'],
  },
  embedding('3dspeaker_speech_campplus_sv_en_voxceleb_16k', {
    name: 'campplus-en',
    title: '3D-Speaker CAM++, English (VoxCeleb)',
    licence: THREE_D_SPEAKER,
    speed: 'fast',
    approximateBytes: 29_600_000,
  }),
  embedding('3dspeaker_speech_campplus_sv_zh_en_16k-common_advanced', {
    name: 'campplus-zh-en',
    title: '3D-Speaker CAM++, Chinese and English',
    licence: THREE_D_SPEAKER,
    speed: 'fast',
    approximateBytes: 28_300_000,
  }),
  embedding('3dspeaker_speech_eres2net_sv_en_voxceleb_16k', {
    name: 'eres2net-en',
    title: '3D-Speaker ERes2Net, English (VoxCeleb)',
    licence: THREE_D_SPEAKER,
    speed: 'medium',
    approximateBytes: 26_500_000,
  }),
  embedding('wespeaker_en_voxceleb_resnet34_LM', {
    name: 'wespeaker-resnet34-en',
    title: 'WeSpeaker ResNet34-LM, English (VoxCeleb)',
    licence: { name: 'CC-BY-4.0', source: 'https://github.com/wenet-e2e/wespeaker/blob/master/docs/pretrained.md' },
    speed: 'medium',
    approximateBytes: null,
  }),
  embedding('nemo_en_titanet_large', {
    name: 'titanet-large-en',
    title: 'NVIDIA TitaNet large, English',
    licence: { name: 'CC-BY-4.0', source: 'https://huggingface.co/nvidia/speakerverification_en_titanet_large' },
    speed: 'medium',
    approximateBytes: null,
  }),
];
