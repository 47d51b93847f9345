import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { sherpaStreamingModel } from '../../../src/modules/transcriptions/engines/sherpa/sherpa-streaming.js';
import { SherpaEngine } from '../../../src/modules/transcriptions/engines/sherpa/sherpa.engine.js';
import type { TranscriptWord } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import type { LiveRecogniser, UtteranceText } from '../../../src/modules/transcriptions/live/live-recogniser.js';
import { StreamingEngine } from '../../../src/modules/transcriptions/live/streaming-engine.js';
import { eventually } from '../../../src/testing/eventually.js';
import {
  writeStreamingCtcModel,
  writeStreamingNemoModel,
  writeStreamingTransducerModel,
} from '../../support/models/streaming-tone-models.js';
import { tonesPcm, writeCtcModel } from '../../support/models/tone-models.js';
import { engineProcesses } from '../../support/service/process-stats.js';

const SENTENCE = ['▁go', '▁forward', '▁ten', '▁met', 'ers'];
const TEXT = 'go forward ten meters';
/** The models' frames are 40 ms apart. */
const FRAME_SECONDS = 0.04;
const PIECE_BYTES = 3200;
const CHILD = /sherpa-live\.child/;

describe('streaming models of sherpa', () => {
  let root: string;
  let transducer: string;
  let ctc: string;
  const engines: StreamingEngine[] = [];

  beforeAll(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), 'sherpa-streaming-e2e-'));
    transducer = await writeStreamingTransducerModel(path.join(root, 'tones'));
    ctc = await writeStreamingCtcModel(path.join(root, 'ctc-tones'));
  });
  afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));
  afterAll(() => rm(root, { recursive: true }));

  const modelOf = (liveModel: string | null, sherpaMemoryMb: number | null = null) =>
    sherpaStreamingModel({ liveModel, modelsFolder: root, sherpaMemoryMb });

  function engineFor(liveModel: string | null, changes: { maxSessions?: number } = {}): StreamingEngine {
    const model = modelOf(liveModel);
    if (!model) throw new Error('no model');
    const engine = new StreamingEngine({ ...model, ...changes });
    engines.push(engine);
    return engine;
  }

  /** One utterance, as audio comes. */
  async function speak(
    recogniser: LiveRecogniser,
    pcm: Buffer,
  ): Promise<UtteranceText & { early: readonly TranscriptWord[] }> {
    const early: TranscriptWord[] = [];
    for (let at = 0; at < pcm.length; at += PIECE_BYTES) {
      early.push(...(await recogniser.add(pcm.subarray(at, at + PIECE_BYTES))));
    }
    return { ...(await recogniser.end()), early };
  }

  it('give each word while audio comes, with its time and its confidence', async () => {
    const recogniser = await engineFor(transducer).open();
    const { text, words, early } = await speak(recogniser, tonesPcm(SENTENCE));
    expect({ text, provider: recogniser.provider, model: recogniser.model }).toEqual({
      text: TEXT,
      provider: 'sherpa',
      model: 'tones',
    });
    // The last word may go on, until the utterance ends: `met` was never sent.
    expect(early.map(({ word }) => word)).toEqual(['go', 'forward', 'ten']);
    expect(words.map(({ word }) => word)).toEqual(TEXT.split(' '));
    words.forEach((word, index) => {
      expect(Math.abs(word.start - (0.2 + 0.4 * index))).toBeLessThanOrEqual(FRAME_SECONDS);
      expect(word.end).toBeGreaterThan(word.start);
      expect(word.confidence).toBeGreaterThan(0.9);
    });
    recogniser.close();
  });

  it('begin anew with each utterance and each speaker', async () => {
    const engine = engineFor(transducer);
    const first = await engine.open();
    await speak(first, tonesPcm(SENTENCE));
    expect(await speak(first, tonesPcm(['▁stop', '▁go']))).toMatchObject({
      text: 'stop go',
      words: [{ start: expect.closeTo(0.2, 1) }, { start: expect.closeTo(0.6, 1) }],
    });
    // Ends in the middle of an utterance.
    await first.add(tonesPcm(['▁ten', '▁forward']));
    first.close();
    const second = await engine.open();
    expect((await speak(second, tonesPcm(['▁go']))).text).toBe('go');
    expect(engine.processes).toBe(1);
    second.close();
  });

  it.each([
    ['CTC', () => ctc],
    ['NeMo', () => writeStreamingNemoModel(path.join(root, 'nemo-tones'))],
  ])('of the kind %s give times without confidence', async (_, write) => {
    const recogniser = await engineFor(await write()).open();
    const { text, words } = await speak(recogniser, tonesPcm(SENTENCE));
    expect(text).toBe(TEXT);
    expect(words.map((word) => word.confidence)).toEqual([null, null, null, null]);
    // A frame of NeMo is twice as long.
    expect(Math.abs((words[3]?.start ?? 0) - 1.4)).toBeLessThanOrEqual(2 * FRAME_SECONDS);
    recogniser.close();
  });

  it('take an utterance of any length', async () => {
    const recogniser = await engineFor(ctc).open();
    for (const bytes of [0, 2, 100, PIECE_BYTES, 40_000]) {
      expect(await speak(recogniser, Buffer.alloc(bytes))).toEqual({ text: '', words: [], early: [] });
    }
    recogniser.close();
  });

  it('repeat an utterance whose process was killed between two parts', async () => {
    const engine = engineFor(transducer);
    const recogniser = await engine.open();
    const pcm = tonesPcm(SENTENCE);
    await recogniser.add(pcm.subarray(0, 32_000));
    const [child = 0] = engineProcesses(process.pid, CHILD);
    process.kill(child, 'SIGKILL');
    await eventually(() => engine.processes === 0);
    await recogniser.add(pcm.subarray(32_000));
    expect((await recogniser.end()).text).toBe(TEXT);
    recogniser.close();
  });

  it('take as many speakers as there is memory for', async () => {
    const engine = engineFor(ctc, { maxSessions: 1 });
    const recogniser = await engine.open();
    await expect(engine.open()).rejects.toThrow('As many speak as there is memory for: 1.');
    recogniser.close();
    (await engine.open()).close();
  });

  it('are the selected one or that of LIVE_MODEL, and know their languages', async () => {
    expect(modelOf(null)).toBeNull();
    const folder = path.join(root, 'german');
    await cp(ctc, folder, { recursive: true });
    await writeFile(path.join(folder, 'model.json'), '{"languages":["german","english"]}');
    await writeFile(path.join(root, 'selected.streaming'), 'german\n');
    const engine = engineFor(null);
    expect({ german: engine.speaks(['german']), both: engine.speaks(['german', 'english']) }).toEqual({
      german: true,
      both: true,
    });
    expect(engine.speaks(['german', 'french'])).toBe(false);
    expect(engineFor('tones').speaks(['french'])).toBe(true);
  });

  it('and models of whole chunks say so where they stand in for each other', async () => {
    const whole = await writeCtcModel(path.join(root, 'whole'));
    expect(() => modelOf('whole')).toThrow(`${whole} holds no streaming model, which LIVE_MODEL needs`);
    const engine = new SherpaEngine({
      sherpaModel: 'tones',
      modelsFolder: root,
      sherpaMemoryMb: null,
      transcriptionConcurrency: 1,
      sandbox: 'auto',
    });
    expect(await engine.problem()).toMatch(
      /holds a streaming model: it is for .*LIVE_MODEL.*, not for SHERPA_MODEL\.$/,
    );
    await engine.close();
  });

  it('that cannot be loaded name their folder', async () => {
    const folder = await writeStreamingTransducerModel(path.join(root, 'broken'), { num_heads: 'none' });
    const engine = engineFor('broken', { maxSessions: 1 });
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(engine.open()).rejects.toThrow(`The model in ${folder} cannot be loaded`);
    }
  });
});
