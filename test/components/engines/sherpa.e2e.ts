import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type SherpaEnv, SherpaEngine } from '../../../src/modules/transcriptions/engines/sherpa/sherpa.engine.js';
import {
  type ChunkTranscript,
  EngineUnavailableError,
  type TranscriptWord,
} from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService } from '../../../src/testing/test-service.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { wav } from '../../support/audio/audio-bytes.js';
import { onnxModel } from '../../support/models/onnx-writer.js';
import { SCRIPT_SEGMENTS, writeScriptedWhisper } from '../../support/models/scripted-whisper.js';
import { tonesPcm, writeCtcModel, writeTransducerModel } from '../../support/models/tone-models.js';
import { engineProcesses, isRunning } from '../../support/service/process-stats.js';

const SENTENCE = ['▁go', '▁forward', '▁ten', '▁met', 'ers'];
const TEXT = 'go forward ten meters';
/** The models' frames are 40 ms apart. */
const FRAME_SECONDS = 0.04;
const ENV = { sherpaMemoryMb: null, transcriptionConcurrency: 1, sandbox: 'auto' } as const;
const CHILD = /sherpa\.child/;
/** Tones are no speech to the other detector. */
const ENERGY = { SPEECH_DETECTOR: 'energy' };

describe('the engine sherpa', () => {
  let root: string;
  let transducer: string;
  let ctc: string;
  const engines: SherpaEngine[] = [];

  beforeAll(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), 'sherpa-e2e-'));
    transducer = await writeTransducerModel(path.join(root, 'tones'));
    ctc = await writeCtcModel(path.join(root, 'ctc-tones'));
  });
  afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));
  afterAll(() => rm(root, { recursive: true }));

  function engineFor(sherpaModel: string | null, changes: Partial<SherpaEnv> = {}): SherpaEngine {
    const engine = new SherpaEngine({ ...ENV, sherpaModel, modelsFolder: root, ...changes });
    engines.push(engine);
    return engine;
  }

  const ask = (
    engine: SherpaEngine,
    pcm: Buffer,
    options: { language?: string; vocabulary?: string[] } = {},
  ): Promise<ChunkTranscript> => {
    const { language = null, vocabulary = [] } = options;
    return engine.transcribe({ pcm, start: 0 }, { language, vocabulary, signal: new AbortController().signal });
  };

  async function copyOf(model: string, name: string, changes: Record<string, string | Buffer> = {}): Promise<string> {
    const folder = path.join(root, name);
    await cp(model, folder, { recursive: true });
    for (const [file, content] of Object.entries(changes)) await writeFile(path.join(folder, file), content);
    return folder;
  }

  it('gives each word its time and its confidence', async () => {
    const engine = engineFor(transducer);
    const { text, confidence, language, words } = await ask(engine, tonesPcm(SENTENCE));
    expect({ text, language, model: engine.model }).toEqual({ text: TEXT, language: 'english', model: 'tones' });
    expect(words.map(({ word }) => word)).toEqual(TEXT.split(' '));
    words.forEach((word, index) => {
      expect(Math.abs(word.start - (0.2 + 0.4 * index))).toBeLessThanOrEqual(FRAME_SECONDS);
      expect(word.end).toBeGreaterThan(word.start);
      expect(word.confidence).toBeGreaterThan(0.9);
    });
    expect(confidence).toBeGreaterThan(0.9);
  });

  it('is less sure of fainter tones', async () => {
    const engine = engineFor(transducer);
    const [loud, faint] = await Promise.all(
      [0.5, 0.05].map((level) => ask(engine, tonesPcm(['▁go', '▁ten'], { level }))),
    );
    expect(faint?.text).toBe('go ten');
    expect(faint?.confidence).toBeLessThan((loud?.confidence ?? 0) - 0.001);
  });

  it('gives times without confidence for a model that has no probabilities', async () => {
    const { text, confidence, words } = await ask(engineFor(ctc), tonesPcm(SENTENCE));
    expect({ text, confidence }).toEqual({ text: TEXT, confidence: null });
    expect(words.map((word) => word.confidence)).toEqual([null, null, null, null]);
    expect(words[3]?.start).toBeCloseTo(1.4, 1);
  });

  it('takes the vocabulary as hot words', async () => {
    // Two tones at once, of which the model hears the first a little better.
    const engine = engineFor(transducer);
    const [ten, stop] = [tonesPcm(['▁ten']), tonesPcm(['▁stop'], { level: 0.125 })];
    const both = Buffer.alloc(ten.length);
    for (let at = 0; at < ten.length; at += 2) both.writeInt16LE(ten.readInt16LE(at) + stop.readInt16LE(at), at);
    expect(engine.maxVocabularyTerms).toBe(15);
    expect((await ask(engine, both)).text).toMatch(/^ten/);
    expect((await ask(engine, both, { vocabulary: ['stop'] })).text).toMatch(/^stop/);
    expect((await ask(engine, both, { vocabulary: ['ten/:3 #x', 'жук'] })).text).toMatch(/^ten/);
    expect(engineFor(ctc).maxVocabularyTerms).toBe(0);
  });

  it('survives a chunk of any length', async () => {
    const engine = engineFor(transducer);
    for (const bytes of [0, 100, 3200, 8000]) {
      expect(await ask(engine, Buffer.alloc(bytes))).toMatchObject({ text: '', words: [], confidence: null });
    }
  });

  it('knows the languages that are recorded beside the model', async () => {
    const folder = await copyOf(transducer, 'two-languages', { 'model.json': '{"languages":["german","english"]}' });
    const engine = engineFor(folder);
    expect({ languages: engine.languages, language: engine.defaultLanguage }).toEqual({
      languages: ['german', 'english'],
      language: 'english',
    });
  });

  describe('with a model of the kind Whisper', () => {
    let whisper: SherpaEngine;

    beforeAll(async () => {
      const folder = await writeScriptedWhisper(path.join(root, 'script'));
      whisper = new SherpaEngine({ ...ENV, sherpaModel: folder, modelsFolder: root });
    });
    afterAll(() => whisper.close());

    it('detects the language, and takes another one', async () => {
      expect({ languages: whisper.languages, terms: whisper.maxVocabularyTerms }).toEqual({
        languages: ['english', 'french'],
        terms: 0,
      });
      const pcm = tonesPcm(['▁go'], { seconds: 3, lead: 0 });
      expect(await ask(whisper, pcm)).toMatchObject({ text: 'Une tête dure.', language: 'french', confidence: null });
      expect(await ask(whisper, pcm, { language: 'english' })).toMatchObject({ language: 'english' });
      expect(await ask(whisper, pcm)).toMatchObject({ language: 'french' });
    });

    it('spreads the words over the segments', async () => {
      const { words } = await ask(whisper, tonesPcm(['▁go'], { seconds: 6, lead: 0 }));
      expect(words.map(({ word }) => word)).toEqual(['Une', 'tête', 'dure.']);
      const [first, second, third] = words;
      expect(first).toMatchObject({ start: 0, confidence: null });
      expect(second?.start).toBeCloseTo((2 * 3) / 7, 2);
      expect(second?.end).toBeCloseTo(SCRIPT_SEGMENTS[0].end, 2);
      expect(third?.start).toBeCloseTo(SCRIPT_SEGMENTS[1].start, 2);
      expect(third?.end).toBeCloseTo(SCRIPT_SEGMENTS[1].end, 2);
    });
  });

  it('runs as many processes as it may, and one at a time when told so', async () => {
    const many = engineFor(transducer, { transcriptionConcurrency: null });
    expect(many.concurrency).toBe(Math.min(os.availableParallelism(), many.concurrency));
    await Promise.all(Array.from({ length: 3 * many.concurrency }, () => ask(many, tonesPcm(SENTENCE))));
    expect(engineProcesses(process.pid, CHILD)).toHaveLength(many.concurrency);
    await many.close();
    const one = engineFor(transducer);
    await Promise.all([ask(one, tonesPcm(SENTENCE)), ask(one, tonesPcm(SENTENCE))]);
    expect(engineProcesses(process.pid, CHILD)).toHaveLength(1);
  });

  it('replaces a process that was killed', async () => {
    const engine = engineFor(transducer);
    await ask(engine, tonesPcm(SENTENCE));
    const [child = 0] = engineProcesses(process.pid, CHILD);
    process.kill(child, 'SIGKILL');
    await eventually(() => !isRunning(child));
    // Bubblewrap reports the end of its process a little later.
    await eventually(async () => (await ask(engine, tonesPcm(SENTENCE)).catch(() => null))?.text === TEXT);
    expect(await engine.problem()).toBeNull();
  });

  it('finds the selected model, and says what to do without one', async () => {
    expect(await engineFor(null).problem()).toMatch(/^No model is selected: /);
    await writeFile(path.join(root, 'selected'), 'tones\n');
    const engine = engineFor(null);
    expect(engine.model).toBe('tones');
    expect((await ask(engine, tonesPcm(SENTENCE))).text).toBe(TEXT);
  });

  it('gives every kind of model to the part of the library that loads it', async () => {
    const value = { name: 'x', type: 'float', shape: ['N', 'T', 80] } as const;
    const identity = { operator: 'Identity', inputs: ['x'], outputs: ['y'] };
    const outputs = [{ ...value, name: 'y' }];
    /** That much and no more: each loader misses something else. */
    const model = (type?: string): Buffer =>
      onnxModel({
        inputs: [value],
        outputs,
        nodes: [identity],
        metadata: type === undefined ? {} : { model_type: type },
      });
    const one = (type: string): Record<string, Buffer> => ({ 'model.onnx': model(type) });
    const two = (type: string): Record<string, Buffer> => ({ 'encoder.onnx': model(type), 'decoder.onnx': model() });
    const kinds: [RegExp, Record<string, Buffer>][] = [
      [/sense-voice-model/, one('sense_voice_ctc')],
      [/paraformer-model/, one('paraformer')],
      [/nemo-enc-dec-ctc-model/, one('EncDecCTCModelBPE')],
      [/wenet-ctc-model/, one('wenet_ctc')],
      [/medasr-ctc-model/, one('medasr_ctc')],
      [/fire-red-asr-ctc-model/, one('fire-red-asr-2-ctc')],
      [/dolphin-model/, one('dolphin')],
      [/whisper-model/, two('whisper-tiny')],
      [/canary-model/, two('EncDecMultiTaskModel')],
      [/cohere-transcribe-model/, two('cohere-transcribe-03-2026')],
      [/fire-red-asr-model/, two('fire-red-asr')],
      [/transducer-nemo-model/, { ...two('EncDecRNNTBPEModel'), 'joiner.onnx': model() }],
    ];
    const problems = await Promise.all(
      kinds.map(async ([, files], index) => {
        const folder = path.join(root, `kind-${index}`);
        await mkdir(folder);
        await writeFile(path.join(folder, 'tokens.txt'), '<blk> 0\na 1\n');
        for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content);
        return await engineFor(folder).problem();
      }),
    );
    kinds.forEach(([loader], index) => expect(problems[index]).toMatch(loader));
  });

  describe('with a model that cannot be used', () => {
    const NONSENSE = { operator: 'NoSuchOperator', inputs: ['x'], outputs: ['log_probs'] };
    const noSuchOperator = onnxModel({
      inputs: [{ name: 'x', type: 'float', shape: ['N', 'T', 80] }],
      outputs: [{ name: 'log_probs', type: 'float', shape: ['N', 'U', 7] }],
      nodes: [NONSENSE],
      metadata: { model_type: 'zipformer2' },
    });
    /** Works when it is loaded, and then takes 8 GB for every chunk. */
    async function greedy(): Promise<string> {
      const shape = BigInt64Array.of(2_000_000_000n);
      const model = onnxModel({
        inputs: [
          { name: 'x', type: 'float', shape: ['N', 'T', 80] },
          { name: 'x_lens', type: 'int64', shape: ['N'] },
        ],
        outputs: [
          { name: 'log_probs', type: 'float', shape: ['N', 'U', 7] },
          { name: 'log_probs_len', type: 'int64', shape: ['N'] },
        ],
        nodes: [
          { operator: 'Mul', inputs: ['x_lens', 'shape'], outputs: ['wanted'] },
          { operator: 'Div', inputs: ['wanted', 'x_lens'], outputs: ['size'] },
          { operator: 'ConstantOfShape', inputs: ['size'], outputs: ['zeros'] },
          { operator: 'ReduceMax', inputs: ['zeros'], outputs: ['zero'], attributes: { keepdims: 0 } },
          { operator: 'MatMul', inputs: ['x', 'weights'], outputs: ['scores'] },
          { operator: 'Add', inputs: ['scores', 'zero'], outputs: ['log_probs'] },
          { operator: 'Div', inputs: ['x_lens', 'one'], outputs: ['log_probs_len'] },
        ],
        constants: [
          { name: 'shape', shape: [1], data: shape },
          { name: 'one', shape: [], data: BigInt64Array.of(1n) },
          { name: 'weights', shape: [80, 7], data: new Float32Array(560) },
        ],
        metadata: { model_type: 'zipformer2_ctc' },
      });
      return await copyOf(ctc, 'greedy', { 'model.onnx': model });
    }

    it('says what is missing, and works once it is there', async () => {
      const folder = path.join(root, 'incomplete');
      await mkdir(folder);
      const engine = engineFor(folder);
      expect(await engine.problem()).toMatch(/incomplete holds no model: no encoder\.onnx, model\.onnx or the like/);
      const refusal = await ask(engine, tonesPcm(SENTENCE)).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(EngineUnavailableError);
      await cp(transducer, folder, { recursive: true });
      await rm(path.join(folder, 'tokens.txt'));
      // A problem is kept for ten seconds.
      const clock = performance.now.bind(performance);
      const now = jest.spyOn(performance, 'now').mockImplementation(() => clock() + 11_000);
      expect(await engine.problem()).toMatch(
        /incomplete looks like a model of the kind transducer but lacks tokens\.txt/,
      );
      await cp(path.join(transducer, 'tokens.txt'), path.join(folder, 'tokens.txt'));
      now.mockImplementation(() => clock() + 22_000);
      expect(await engine.problem()).toBeNull();
      now.mockRestore();
      expect((await ask(engine, tonesPcm(SENTENCE))).text).toBe(TEXT);
    });

    it.each([
      [
        'a file that is cut short',
        'encoder.onnx',
        (whole: Buffer) => whole.subarray(0, -10),
        /encoder\.onnx is damaged or cut/,
      ],
      ['an empty file', 'joiner.onnx', () => Buffer.alloc(0), /joiner\.onnx is empty/],
      ['broken tokens', 'tokens.txt', () => 'a b c\n', /tokens\.txt line 1 is no token/],
      ['an unknown operator', 'encoder.onnx', () => noSuchOperator, /cannot be loaded .*NoSuchOperator/],
    ])('names the problem of %s', async (name, file, change, message) => {
      const content = change(await readFile(path.join(transducer, file)));
      const folder = await copyOf(transducer, `broken ${name}`, { [file]: content });
      expect(await engineFor(folder).problem()).toMatch(message);
    });

    it('survives a model that ends the process, and does not start it again and again', async () => {
      // Without the number of its tokens, over which the library ends the process.
      const engine = engineFor(await writeCtcModel(path.join(root, 'corrupt'), { model_type: 'EncDecCTCModel' }));
      expect(await engine.problem()).toMatch(/corrupt cannot be loaded \(ended by .*: .*vocab_size/);
      const before = Date.now();
      const refusals = await Promise.allSettled(Array.from({ length: 20 }, () => ask(engine, tonesPcm(SENTENCE))));
      expect(Date.now() - before).toBeLessThan(5000);
      for (const refusal of refusals) expect(refusal).toMatchObject({ reason: { name: 'EngineUnavailableError' } });
      expect(await engine.problem()).toMatch(/corrupt cannot be loaded/);
      expect(engineProcesses(process.pid, CHILD)).toEqual([]);
    });

    it('says that a model needs more memory than it may take', async () => {
      const engine = engineFor(await greedy());
      expect(await engine.problem()).toMatch(/greedy needs more memory than the \d+ MB allowed .* SHERPA_MEMORY_MB/);
    });
  });

  describe('in the service', () => {
    const environment = useEnvironment();

    it('transcribes an upload, with the time and confidence of each word, and refuses other languages', async () => {
      await copyOf(transducer, 'european', { 'model.json': '{"languages":["german","english"]}' });
      const variables = { ...ENERGY, TRANSCRIPTION_ENGINE: 'auto', SHERPA_MODEL: 'european', MODELS_FOLDER: root };
      const service = await startService(environment, variables);
      const client = await service.account();
      const upload = async (fields: Record<string, string>): Promise<string> =>
        (await client.upload(wav({ data: tonesPcm(SENTENCE) }), fields, 'tones.wav').expect(201)).body.id as string;
      const [german, french] = [await upload({ language: 'german' }), await upload({ language: 'french' })];
      expect(await client.finished(german)).toMatchObject({ status: 'transcribed' });
      const { body: transcription } = await client.get(`/v1/recordings/${german}/transcription`).expect(200);
      expect(transcription).toMatchObject({ text: TEXT, language: 'german', provider: 'sherpa', model: 'european' });
      expect(transcription.confidence).toBeGreaterThan(0.9);
      const words = JSON.parse(transcription.words) as TranscriptWord[];
      expect(words.map(({ word }) => word)).toEqual(TEXT.split(' '));
      for (const { confidence } of words) expect(confidence).toBeGreaterThan(0.9);
      expect(Math.abs((words[3]?.start ?? 0) - 1.4)).toBeLessThanOrEqual(FRAME_SECONDS);
      expect(await client.finished(french)).toMatchObject({ status: 'failed' });
      const { body: failure } = await client.get(`/v1/recordings/${french}/transcription`).expect(404);
      expect(failure.error.details.reason).toBe('Language not supported: french. Supported: german, english.');
    });

    it('lets recordings wait for a model that cannot be loaded, and names it in the readiness', async () => {
      const variables = { TRANSCRIPTION_ENGINE: 'sherpa', SHERPA_MODEL: 'nowhere', MODELS_FOLDER: root };
      const service = await startService(environment, variables);
      const client = await service.account();
      const { body } = await client.upload(wav({ data: tonesPcm(SENTENCE) }), {}, 'tones.wav').expect(201);
      const readiness = await fetch(`${service.url}/health/ready`);
      expect(readiness.status).toBe(503);
      expect(await readiness.text()).toContain('nowhere does not exist');
      expect((await client.get(`/v1/recordings/${body.id}`).expect(200)).body).toMatchObject({ status: 'processing' });
    });
  });
});
