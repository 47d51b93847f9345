import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { InstalledModels } from '../../../src/modules/models/installed-models.js';
import type { SpeakerSegment } from '../../../src/modules/transcriptions/speakers/speaker-diarizer.js';
import { SpeakerDiarizerService } from '../../../src/modules/transcriptions/speakers/speaker-diarizer.service.js';
import type { Env } from '../../../src/platform/config/env.js';
import { eventually } from '../../../src/testing/eventually.js';
import {
  type Turn,
  voicesPcm,
  writeEmbeddingModel,
  writeSegmentationModel,
} from '../../support/models/voice-models.js';
import { engineProcesses, memoryOf } from '../../support/service/process-stats.js';

const CHILD = /speaker\.child/;
/** Frames of the segmentation are 17 ms apart. */
const FRAME_SECONDS = 0.04;
/** Recordings of odd lengths in a row, whose figures `ODD_LENGTHS=500` prints. */
const ODD_LENGTHS = Number(process.env.ODD_LENGTHS ?? 12);
jest.setTimeout(Math.max(60_000, ODD_LENGTHS * 5_000));

describe('the speaker diarizer', () => {
  let root: string;
  const services: SpeakerDiarizerService[] = [];

  beforeAll(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), 'speakers-e2e-'));
    await writeSegmentationModel(path.join(root, 'segments'));
    await writeEmbeddingModel(path.join(root, 'voices'));
  });
  afterEach(() => Promise.all(services.splice(0).map((service) => service.onApplicationShutdown())));
  afterAll(() => rm(root, { recursive: true }));

  function diarizer(changes: Partial<Env> = {}): SpeakerDiarizerService {
    const service = new SpeakerDiarizerService({
      modelsFolder: root,
      speakerSegmentationModel: 'segments',
      speakerEmbeddingModel: 'voices',
      speakerProcesses: 1,
      speakerMemoryMb: 256,
      speakerThreshold: 90,
      sandbox: 'auto',
      ...changes,
    } as Env);
    services.push(service);
    return service;
  }

  let files = 0;
  async function hear(
    service: SpeakerDiarizerService,
    pcm: Buffer,
    { speakers = null as number | null, signal = new AbortController().signal } = {},
  ): Promise<SpeakerSegment[]> {
    const pcmFile = path.join(root, `audio-${++files}.pcm`);
    await writeFile(pcmFile, pcm);
    const input = { pcmFile, seconds: pcm.length / 32_000, speakers, accountId: 'a', signal };
    try {
      return await service.diarize(input);
    } finally {
      await rm(pcmFile);
    }
  }

  const TALK: readonly Turn[] = [
    { person: 1, start: 0.5, end: 4 },
    { person: 0, start: 5, end: 9 },
    { person: 1, start: 10, end: 14 },
    { person: 2, start: 15, end: 21 },
    { person: 0, start: 22, end: 27 },
  ];

  /** The segments are the turns, and speakers are numbered by first appearance. */
  function expectTurns(segments: readonly SpeakerSegment[], turns: readonly Turn[]): void {
    const people = [...new Set(turns.map(({ person }) => person))];
    expect(segments.map(({ speaker }) => speaker)).toEqual(turns.map(({ person }) => people.indexOf(person)));
    segments.forEach(({ start, end }, index) => {
      expect(Math.abs(start - (turns[index]?.start ?? 0))).toBeLessThanOrEqual(FRAME_SECONDS);
      expect(Math.abs(end - (turns[index]?.end ?? 0))).toBeLessThanOrEqual(FRAME_SECONDS);
    });
  }

  it('tells who speaks when, in numbers by first appearance', async () => {
    const service = diarizer();
    expect({ model: service.model, problem: await service.problem() }).toEqual({
      model: 'segments + voices',
      problem: null,
    });
    expectTurns(await hear(service, voicesPcm(TALK, 28)), TALK);
  });

  it('finds no speaker in silence, and one in the voice of one', async () => {
    const service = diarizer();
    expect(await hear(service, Buffer.alloc(32_000 * 3))).toEqual([]);
    expect(await hear(service, Buffer.alloc(32_000 * 13))).toEqual([]);
    const alone = [{ person: 0, start: 1, end: 14 }];
    expectTurns(await hear(service, voicesPcm(alone, 15)), alone);
  });

  it('survives audio of any length', async () => {
    const service = diarizer();
    for (const bytes of [0, 1, 2, 3, 640, 3200, 32_001]) {
      expect(await hear(service, Buffer.alloc(bytes, 7))).toEqual([]);
    }
    const short = [
      { person: 0, start: 0.1, end: 1 },
      { person: 1, start: 1.2, end: 2.1 },
    ];
    expectTurns(await hear(service, voicesPcm(short, 2.1)), short);
  });

  // Without the silence that is added, sherpa-onnx ends the process: it has no audio of that voice.
  it('survives a voice that the model hears behind the end of the audio', async () => {
    await writeSegmentationModel(path.join(root, 'noisy'), { hearsSilence: true });
    const service = diarizer({ speakerSegmentationModel: 'noisy' });
    const segments = await hear(service, voicesPcm([{ person: 0, start: 0, end: 15.3 }], 15.3));
    expect(segments).toEqual([]);
    const pauses = await hear(service, voicesPcm([{ person: 0, start: 2, end: 15.3 }], 15.3));
    expect(pauses.map(({ speaker }) => speaker)).toEqual([0]);
    expect(pauses[0]?.end).toBeLessThanOrEqual(15.3);
  });

  it('takes a given number as the most that there are', async () => {
    const service = diarizer();
    const pcm = voicesPcm(TALK, 28);
    const count = async (speakers: number, audio = pcm): Promise<number> =>
      new Set((await hear(service, audio, { speakers })).map(({ speaker }) => speaker)).size;
    expect([await count(1), await count(2), await count(3)]).toEqual([1, 2, 3]);
    // More than there are voices in the few windows of short audio.
    const two = voicesPcm(TALK.slice(0, 2), 10.5);
    expect([await count(20, two), await count(1, two)]).toEqual([2, 1]);
    // A single window, in which the segmentation alone tells them apart.
    expect(await count(1, voicesPcm(TALK.slice(0, 2), 9.5))).toBe(1);
  });

  it('says why it cannot work, and works once the models are selected', async () => {
    const folder = await mkdtemp(path.join(root, 'models-'));
    const models = new InstalledModels(folder);
    const selection = { modelsFolder: folder, speakerSegmentationModel: null, speakerEmbeddingModel: null };
    expect(diarizer(selection).model).toBeNull();
    expect(await diarizer(selection).problem()).toMatch(/^No models for speakers are selected .*npm run models/);
    await expect(hear(diarizer(selection), voicesPcm(TALK, 28))).rejects.toThrow(/^No models for speakers/);
    for (const name of ['segments', 'voices'])
      await cp(path.join(root, name), path.join(folder, name), { recursive: true });
    for (const name of ['segments', 'voices']) await models.select(name);
    expect(await diarizer(selection).problem()).toBeNull();
    expect((await models.list()).map(({ isSelected }) => isSelected)).toEqual([true, true]);
    await models.remove('voices', { force: true });
    expect(await diarizer(selection).problem()).toMatch(/^No models for speakers/);
    expect(await diarizer({ speakerEmbeddingModel: 'segments' }).problem()).toMatch(/cannot be used .* its log/);
  });

  it('says when a model cannot be loaded', async () => {
    const folder = await writeEmbeddingModel(path.join(root, 'broken'), {}, 'NoSuchOperator');
    const service = diarizer({ speakerEmbeddingModel: folder });
    expect(await service.problem()).toMatch(/cannot be used .* its log/);
    await expect(hear(service, voicesPcm(TALK, 28))).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  });

  it('refuses a recording for which it has no memory', async () => {
    const service = diarizer({ speakerMemoryMb: 16 });
    expect(service.maxSeconds).toBeLessThan(200);
    await expect(hear(service, Buffer.alloc(32_000 * 200))).rejects.toThrow(/of up to 2 minutes .*SPEAKER_MEMORY_MB/);
    expect(engineProcesses(process.pid, CHILD)).toEqual([]);
  });

  it('ends its process when the recording is not wanted any more, and starts another', async () => {
    const service = diarizer();
    await service.problem();
    const [first] = engineProcesses(process.pid, CHILD);
    const stop = new AbortController();
    const running = hear(service, voicesPcm(TALK, 240), { signal: stop.signal });
    running.catch(() => undefined);
    stop.abort(new Error('not wanted'));
    await expect(running).rejects.toThrow('not wanted');
    expectTurns(await hear(service, voicesPcm(TALK, 28)), TALK);
    expect(engineProcesses(process.pid, CHILD)).toHaveLength(1);
    expect(first).toBeDefined();
  });

  it('replaces a process whose memory has grown', async () => {
    const service = diarizer();
    await service.problem();
    const [first] = engineProcesses(process.pid, CHILD);
    Object.defineProperty(service, 'replacedFromBytes', { value: 1 });
    await hear(service, voicesPcm(TALK, 28));
    await eventually(() => !engineProcesses(process.pid, CHILD).includes(first ?? 0));
    expectTurns(await hear(service, voicesPcm(TALK, 28)), TALK);
  });

  it('stays small over recordings of odd lengths', async () => {
    const service = diarizer();
    const sizes: number[] = [];
    const processes = new Set<number>();
    for (let i = 0; i < ODD_LENGTHS; i++) {
      // 2 to 32 s, no two of them with the same number of samples.
      const seconds = 2 + ((i * 7919) % 30_011) / 1000;
      const turns = TALK.filter(({ start }) => start < seconds);
      const segments = await hear(service, voicesPcm(turns, seconds));
      expect(segments.length).toBeGreaterThan(0);
      const [pid] = engineProcesses(process.pid, CHILD);
      if (pid === undefined) continue;
      processes.add(pid);
      sizes.push(memoryOf(pid).resident / 2 ** 20);
    }
    const figures = { first: sizes[0], last: sizes.at(-1), most: Math.max(...sizes), processes: processes.size };
    if (ODD_LENGTHS > 100) process.stdout.write(`${ODD_LENGTHS} odd lengths, MB: ${JSON.stringify(figures)}\n`);
    expect(figures.most).toBeLessThan(600);
  });
});
