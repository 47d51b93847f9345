import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onnxModel } from '../../../test/support/models/onnx-writer.js';
import { isStreamingModel, ModelError, readModelFolder } from './model-folder.js';

const TOKENS = '<blk> 0\n▁a 1\n 2\nb 3\n';

/** A model that says what it is and does nothing. */
function onnx(metadata: Record<string, string> = {}, externalFile?: string): Buffer {
  const weights = { name: 'w', shape: [3], data: Float32Array.of(1, 2, 3), externalFile };
  const value = { name: 'x', type: 'float', shape: ['N'] } as const;
  return onnxModel({ inputs: [value], outputs: [value], nodes: [], constants: [weights], metadata });
}

const typed = (type: string): Buffer => onnx({ model_type: type });

describe('readModelFolder', () => {
  let root: string;
  let count = 0;

  beforeAll(() => {
    root = mkdtempSync(path.join(os.tmpdir(), 'model-kind-'));
  });
  afterAll(() => rmSync(root, { recursive: true }));

  function folderWith(files: Record<string, string | Buffer>, name = `model-${++count}`): string {
    const folder = path.join(root, name);
    mkdirSync(folder);
    for (const [file, content] of Object.entries(files)) writeFileSync(path.join(folder, file), content);
    return folder;
  }

  const tokens = { 'tokens.txt': TOKENS };
  const pair = (type: string): Record<string, string | Buffer> => ({
    'encoder.onnx': typed(type),
    'decoder.onnx': onnx(),
    ...tokens,
  });

  it.each([
    ['whisper', pair('whisper-tiny')],
    [
      'whisper',
      {
        'tiny.en-encoder.int8.onnx': typed('whisper-tiny.en'),
        'tiny.en-decoder.int8.onnx': onnx(),
        'tiny.en-tokens.txt': TOKENS,
      },
    ],
    ['canary', pair('EncDecMultiTaskModel')],
    ['cohere-transcribe', pair('cohere-transcribe-03-2026')],
    [
      'fire-red-asr',
      {
        'encoder.int8.onnx': onnx({ cmvn_mean: '1', num_decoder_layers: '16' }),
        'decoder.int8.onnx': onnx(),
        ...tokens,
      },
    ],
    ['transducer', { ...pair('zipformer2'), 'joiner.onnx': onnx() }],
    [
      'transducer',
      {
        'encoder-epoch-99-avg-1.int8.onnx': onnx(),
        'decoder-epoch-99-avg-1.onnx': onnx(),
        'joiner-epoch-99-avg-1.int8.onnx': onnx(),
        ...tokens,
      },
    ],
    ['nemo-transducer', { ...pair('EncDecRNNTBPEModel'), 'joiner.onnx': onnx() }],
    [
      'moonshine',
      {
        'preprocess.onnx': onnx(),
        'encode.int8.onnx': onnx(),
        'uncached_decode.int8.onnx': onnx(),
        'cached_decode.int8.onnx': onnx(),
        ...tokens,
      },
    ],
    ['moonshine-v2', { 'encoder_model.ort': 'xxxxORTMxxxx', 'decoder_model_merged.ort': 'xxxxORTMxxxx', ...tokens }],
    ['sense-voice', { 'model.int8.onnx': typed('sense_voice_ctc'), ...tokens }],
    ['paraformer', { 'model.onnx': typed('paraformer'), ...tokens }],
    ['nemo-ctc', { 'model.onnx': typed('EncDecCTCModelBPE'), ...tokens }],
    ['zipformer-ctc', { 'ctc-epoch-20-avg-1.int8.onnx': typed('zipformer2_ctc'), ...tokens }],
    ['wenet-ctc', { 'model.onnx': typed('wenet_ctc'), ...tokens }],
    ['telespeech-ctc', { 'model.int8.onnx': typed('telespeech_ctc'), ...tokens }],
    ['medasr', { 'model.int8.onnx': typed('medasr_ctc'), ...tokens }],
    ['omnilingual', { 'model.int8.onnx': typed('omnilingual-asr'), ...tokens }],
    ['fire-red-asr-ctc', { 'model.int8.onnx': typed('fire-red-asr-2-ctc'), ...tokens }],
    ['dolphin', { 'model.int8.onnx': onnx({ mean: '1', invstd: '1' }), ...tokens }],
  ])('tells a model of the kind %s', (kind, files) => {
    expect(readModelFolder(folderWith(files))).toMatchObject({ kind });
  });

  it.each([
    [
      'streaming-transducer',
      {
        'encoder-epoch-99-avg-1-chunk-16-left-128.int8.onnx': onnx({
          model_type: 'zipformer2',
          decode_chunk_len: '32',
          T: '45',
        }),
        'decoder-epoch-99-avg-1-chunk-16-left-128.onnx': onnx(),
        'joiner-epoch-99-avg-1-chunk-16-left-128.int8.onnx': onnx(),
        ...tokens,
      },
    ],
    [
      'streaming-zipformer-ctc',
      { 'model.onnx': onnx({ model_type: 'zipformer2_ctc', decode_chunk_len: '32', T: '45' }), ...tokens },
    ],
    [
      'streaming-nemo-ctc',
      {
        'model.onnx': onnx({
          model_type: 'EncDecCTCModelBPE',
          chunk_shift: '40',
          window_size: '45',
          subsampling_factor: '8',
        }),
        ...tokens,
      },
    ],
    [
      'streaming-nemo-transducer',
      {
        ...pair('x'),
        'encoder.onnx': onnx({ model_type: 'EncDecHybridRNNTCTCBPEModel', chunk_shift: '40', window_size: '45' }),
        'joiner.onnx': onnx(),
      },
    ],
  ])('tells a model of the kind %s, and how it takes audio while it comes', (kind, files) => {
    const folder = folderWith(files);
    const timeFactor = kind === 'streaming-nemo-ctc' ? 2 : 1;
    expect(readModelFolder(folder)).toMatchObject({ kind, streaming: { windowSeconds: 0.45, timeFactor } });
    expect(isStreamingModel(folder)).toBe(true);
  });

  it('tells models of whole chunks from streaming ones', () => {
    const folder = folderWith({ ...pair('zipformer2'), 'joiner.onnx': onnx() });
    expect(readModelFolder(folder).streaming).toBeNull();
    expect(isStreamingModel(folder)).toBe(false);
    expect(isStreamingModel(folderWith(tokens))).toBe(false);
  });

  it('prefers the files with the smallest weights', () => {
    const folder = folderWith({
      'encoder.onnx': typed('whisper-tiny'),
      'encoder.int8.onnx': typed('whisper-tiny'),
      'decoder.onnx': onnx(),
      'decoder.int8.onnx': onnx(),
      ...tokens,
    });
    const { files, bytes } = readModelFolder(folder);
    expect(files.encoder).toBe(path.join(folder, 'encoder.int8.onnx'));
    expect(files.decoder).toBe(path.join(folder, 'decoder.int8.onnx'));
    expect(bytes).toBe(typed('whisper-tiny').length + onnx().length);
  });

  it('counts weights outside the model', () => {
    const model = onnx({ model_type: 'zipformer2_ctc' }, 'model.weights');
    const folder = folderWith({ 'model.onnx': model, 'model.weights': Buffer.alloc(1000), ...tokens });
    expect(readModelFolder(folder).bytes).toBe(model.length + 1000);
  });

  it.each([
    ['the decoder', { 'encoder.onnx': typed('whisper-tiny'), ...tokens }, 'lacks decoder.int8.onnx'],
    ['the tokens', { 'model.onnx': typed('zipformer2_ctc') }, 'lacks tokens.txt'],
    ['the joiner', pair('zipformer2'), 'lacks joiner.int8.onnx'],
    [
      'two of four files',
      { 'preprocess.onnx': onnx(), 'encode.onnx': onnx(), ...tokens },
      'lacks uncached_decode.int8.onnx (and cached_decode.int8.onnx)',
    ],
    ['everything', { 'README.md': 'x' }, 'holds no model'],
    [
      'the weights beside the model',
      { 'model.onnx': onnx({ model_type: 'zipformer2_ctc' }, 'model.weights'), ...tokens },
      'lacks model.weights',
    ],
  ])('names what is missing: %s', (_, files, message) => {
    expect(() => readModelFolder(folderWith(files))).toThrow(message);
  });

  it.each([
    ['an empty model', { 'model.onnx': '', ...tokens }, 'model.onnx is empty'],
    [
      'a Git LFS pointer',
      { 'model.onnx': 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n', ...tokens },
      'is a Git LFS pointer',
    ],
    [
      'a web page',
      { 'model.onnx': '<!DOCTYPE html><html></html>', ...tokens },
      /model\.onnx is (damaged|no ONNX model)/,
    ],
    ['random bytes', { 'model.onnx': Buffer.alloc(5000, 0xd7), ...tokens }, 'is damaged'],
    ['another type', { 'model.onnx': typed('vits'), ...tokens }, 'is a model of the kind vits, which is not supported'],
    ['no type', { 'model.onnx': onnx(), ...tokens }, 'does not say what it is'],
    [
      'a streaming model that does not tell its window',
      {
        ...pair('zipformer2'),
        'joiner.onnx': onnx(),
        'encoder.onnx': onnx({ model_type: 'zipformer2', decode_chunk_len: '32' }),
      },
      'encoder.onnx does not tell its T',
    ],
    [
      'a streaming model of another kind',
      { ...pair('x'), 'joiner.onnx': onnx(), 'encoder.onnx': onnx({ model_type: 'emformer', decode_chunk_len: '32' }) },
      'is a model of the kind emformer, which is not supported',
    ],
    [
      'two models',
      { ...pair('whisper-tiny'), 'base-encoder.onnx': typed('whisper-base') },
      'holds files of several models (base-encoder.onnx, encoder.onnx)',
    ],
    ['empty tokens', { 'model.onnx': typed('paraformer'), 'tokens.txt': '' }, 'tokens.txt is empty'],
    ['broken tokens', { 'model.onnx': typed('paraformer'), 'tokens.txt': 'a 1\nb c d\n' }, 'tokens.txt line 2'],
    ['no blank', { 'model.onnx': typed('zipformer2_ctc'), 'tokens.txt': 'a 0\n' }, 'has no line for <blk>'],
    ['weights elsewhere', { 'model.onnx': onnx({ model_type: 'paraformer' }, '../weights'), ...tokens }, 'outside'],
    ['a broken record', { 'model.onnx': typed('paraformer'), ...tokens, 'model.json': '{' }, 'model.json is not JSON'],
    [
      'a language that does not exist',
      { 'model.onnx': typed('paraformer'), ...tokens, 'model.json': '{"languages":["klingonish"]}' },
      'languages in',
    ],
  ])('refuses %s', (_, files, message) => {
    const folder = folderWith(files);
    expect(() => readModelFolder(folder)).toThrow(ModelError);
    expect(() => readModelFolder(folder)).toThrow(message);
  });

  it('refuses a model that is cut short anywhere', () => {
    const whole = typed('zipformer2_ctc');
    const folder = folderWith({ 'model.onnx': whole, ...tokens });
    for (let length = whole.length - 1; length > 0; length--) {
      truncateSync(path.join(folder, 'model.onnx'), length);
      expect(() => readModelFolder(folder)).toThrow(ModelError);
    }
  });

  it('refuses a folder that is not there', () => {
    expect(() => readModelFolder(path.join(root, 'nowhere'))).toThrow('nowhere does not exist');
  });

  it.each([
    [
      'its record',
      'model-de',
      { ...pair('zipformer2'), 'joiner.onnx': onnx(), 'model.json': '{"languages":["german","uk"]}' },
      ['german', 'ukrainian'],
    ],
    [
      'the properties of Whisper',
      'model-w',
      {
        ...pair('whisper'),
        'encoder.onnx': onnx({ model_type: 'whisper-base', is_multilingual: '1', all_language_codes: 'en,de,jw' }),
      },
      ['english', 'german', 'javanese'],
    ],
    [
      'Whisper for English',
      'model-wen',
      {
        ...pair('whisper'),
        'encoder.onnx': onnx({ model_type: 'whisper-base.en', is_multilingual: '0', all_language_codes: 'en,de' }),
      },
      ['english'],
    ],
    [
      'its name',
      'sherpa-onnx-nemo-ctc-be-de-20k',
      { 'model.onnx': typed('EncDecCTCModel'), ...tokens },
      ['belarusian', 'german'],
    ],
    ['nothing', 'my-own-de', { 'model.onnx': typed('EncDecCTCModel'), ...tokens }, null],
  ])('takes the languages from %s', (_, name, files, languages) => {
    expect(readModelFolder(folderWith(files, name)).languages).toEqual(languages);
  });
});
