import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onnxModel } from '../../../test/support/models/onnx-writer.js';
import { sampleModel } from '../../../test/support/models/sample-model.js';
import { readCatalogue } from './catalogue.js';
import { CATALOGUE } from './catalogue-entries.js';
import { MODEL_NAME } from './installed-models.js';
import { SPEAKER_CATALOGUE } from './speaker-catalogue.js';
import { readAnyModel, readSpeakerModel, SPEAKER_KINDS } from './speaker-model.js';

const SEGMENTATION = {
  model_type: 'pyannote-segmentation-3.0',
  sample_rate: '16000',
  window_size: '160000',
  receptive_field_size: '991',
  receptive_field_shift: '270',
  num_speakers: '3',
  powerset_max_classes: '2',
  num_classes: '7',
};
const EMBEDDING = { framework: 'wespeaker', sample_rate: '16000', output_dim: '256' };
const NEMO = { ...EMBEDDING, framework: 'nemo', feat_dim: '80', window_size_ms: '25', window_stride_ms: '10' };

function onnx(metadata: Record<string, string>): Buffer {
  const value = { name: 'x', type: 'float', shape: ['N'] } as const;
  return onnxModel({ inputs: [value], outputs: [value], nodes: [], metadata });
}

describe('readSpeakerModel', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'speaker-model-'));
  let count = 0;
  afterAll(() => rmSync(root, { recursive: true }));

  function folderWith(files: Record<string, string | Buffer>): string {
    const folder = path.join(root, String(++count));
    mkdirSync(folder);
    for (const [file, content] of Object.entries(files)) writeFileSync(path.join(folder, file), content);
    return folder;
  }

  it.each([
    ['speaker-segmentation', 'model.onnx', SEGMENTATION],
    ['speaker-embedding', 'wespeaker_en_voxceleb_resnet34_LM.onnx', EMBEDDING],
    ['speaker-embedding', '3dspeaker.onnx', { ...EMBEDDING, framework: '3d-speaker' }],
    ['speaker-embedding', 'nemo_en_titanet_large.onnx', NEMO],
  ])('knows a model of the kind %s in %s', (kind, name, metadata) => {
    const folder = folderWith({ [name]: onnx(metadata), 'README.md': '' });
    const file = path.join(folder, name);
    expect(readSpeakerModel(folder)).toMatchObject({ kind, file, folder, reads: [folder] });
    expect(readAnyModel(folder)).toEqual({ kind, files: [file], languages: null });
  });

  it('knows the window of a segmentation, and takes one of two precisions', () => {
    const folder = folderWith({ 'model.onnx': onnx(SEGMENTATION), 'model.int8.onnx': onnx(SEGMENTATION) });
    expect(readSpeakerModel(folder)).toMatchObject({ window: 160_000, file: path.join(folder, 'model.int8.onnx') });
  });

  it('leaves models of speech and other folders to others', () => {
    const speech = folderWith(sampleModel(400));
    expect(readSpeakerModel(speech)).toBeNull();
    expect(readAnyModel(speech).kind).toBe('nemo-ctc');
    expect(readSpeakerModel(folderWith({}))).toBeNull();
  });

  it.each([
    ['does not tell its window_size', { ...SEGMENTATION, window_size: '' }],
    ['does not tell its num_classes', { ...SEGMENTATION, num_classes: '0' }],
    ['does not tell its output_dim', { ...EMBEDDING, output_dim: 'many' }],
    ['does not tell its feat_dim', { ...NEMO, feat_dim: '' }],
    ['is for audio of 8000 Hz', { ...EMBEDDING, sample_rate: '8000' }],
    ['tells more than 2 speakers at the same time', { ...SEGMENTATION, powerset_max_classes: '3' }],
  ])('refuses one that %s', (problem, metadata) => {
    expect(() => readSpeakerModel(folderWith({ 'model.onnx': onnx(metadata) }))).toThrow(problem);
  });

  it('refuses several models in one folder', () => {
    const folder = folderWith({ 'a.onnx': onnx(EMBEDDING), 'b.onnx': onnx(EMBEDDING) });
    expect(() => readSpeakerModel(folder)).toThrow('files of several models');
  });
});

describe('the catalogue of models for speakers', () => {
  it('has both kinds, each with a licence that allows commercial use', async () => {
    expect(new Set(SPEAKER_CATALOGUE.map(({ kind }) => kind))).toEqual(new Set(SPEAKER_KINDS));
    for (const { name, licence, files, repository } of SPEAKER_CATALOGUE) {
      expect(name).toMatch(MODEL_NAME);
      expect(repository).toMatch(/^[\w.-]+\/[\w.-]+$/);
      expect(files).toEqual([expect.stringMatching(/^[\w.-]+\.onnx$/)]);
      expect(licence?.name).toMatch(/^(MIT|Apache-2\.0|CC-BY-4\.0)$/);
      expect(licence?.source).toMatch(/^https:\/\//);
    }
    const all = (await readCatalogue(path.join(os.tmpdir(), 'absent'))).map(({ name }) => name);
    expect(all).toHaveLength(CATALOGUE.length + SPEAKER_CATALOGUE.length);
    expect(new Set(all).size).toBe(all.length);
  });
});
