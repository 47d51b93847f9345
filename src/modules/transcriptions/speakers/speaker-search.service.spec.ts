import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { Spool } from '../../../platform/storage/spool.js';
import { EngineError, type TranscriptionEngine, type TranscriptWord } from '../engines/transcription-engine.js';
import type { TranscriptionsService } from '../transcriptions.service.js';
import type { DiarizeInput, SpeakerSegment } from './speaker-diarizer.js';
import type { SpeakerDiarizerService } from './speaker-diarizer.service.js';
import {
  FAILED,
  NO_WORD_TIMES,
  NOT_LABELLED,
  SpeakerSearchService,
  type SpeakerSource,
} from './speaker-search.service.js';

const ENGINE = { name: 'fake', model: 'fake-1' } as TranscriptionEngine;

/** A word a second. */
const word = (start: number, more: Partial<TranscriptWord> = {}): TranscriptWord => ({
  word: `word${start}`,
  start,
  end: start + 0.5,
  confidence: 0.9,
  ...more,
});
const speakersOf = (words: readonly TranscriptWord[]) => words.map(({ speaker }) => speaker);

describe('SpeakerSearchService', () => {
  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));

  let folder: string;
  let spool: Spool;
  let asked: (DiarizeInput & { audio: string })[];
  let problem: string | null;
  let diarize: () => Promise<SpeakerSegment[]>;
  let abort: AbortController;

  const diarizer = {
    model: 'voices-1',
    problem: async () => problem,
    diarize: async (input: DiarizeInput) => {
      asked.push({ ...input, audio: await readFile(input.pcmFile, 'utf8') });
      return await diarize();
    },
  } as SpeakerDiarizerService;

  /** What is served of a recording that is transcribed again. */
  let rerunOf: string | null;
  let served: TranscriptWord[];
  const transcriptions = { speakersBefore: async () => served } as unknown as TranscriptionsService;

  beforeEach(async () => {
    [rerunOf, served] = [null, []];
    folder = await mkdtemp(join(tmpdir(), 'speakers-'));
    spool = new Spool(join(folder, 'spool'));
    await spool.prepare();
    [asked, problem, abort] = [[], null, new AbortController()];
    diarize = async () => [
      { start: 0, end: 2, speaker: 0 },
      { start: 2, end: 4, speaker: 1 },
    ];
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const begin = (source: SpeakerSource = 'voices', speakers: number | null = null) =>
    new SpeakerSearchService(diarizer, spool, transcriptions).begin({
      source,
      engine: ENGINE,
      voices: { speakers, accountId: 'account', signal: abort.signal },
      rerunOf,
    });
  const files = () => readdir(join(folder, 'spool'));

  /** The search in a recording of four seconds. @param filter of an extension */
  async function search(
    source: SpeakerSource,
    words: TranscriptWord[],
    { text = words.map((each) => each.word).join(' '), filter = (given: TranscriptWord[]) => given } = {},
  ) {
    const started = await begin(source);
    await started.add(Buffer.from('so'));
    await started.add(Buffer.from('und'));
    const labelled = await started.label({ text, words, seconds: 4 });
    const result = started.result(filter(labelled));
    await started.end();
    expect(await files()).toEqual([]);
    return { labelled: speakersOf(labelled), ...result };
  }

  it('gives words the labels of voices, of which the diarizer gets the whole audio', async () => {
    const { words, speakers, problem: none } = await search('voices', [word(0), word(1), word(2), word(3)]);
    expect([speakersOf(words), speakers, none]).toEqual([['A', 'A', 'B', 'B'], { count: 2, model: 'voices-1' }, null]);
    const [input] = asked;
    expect(input).toMatchObject({ audio: 'sound', seconds: 4, speakers: null, accountId: 'account' });
    expect(asked).toHaveLength(1);
  });

  it('labels the first who is heard A, whatever number the diarizer has for them', async () => {
    diarize = async () => [
      { start: 2, end: 9, speaker: 0 },
      { start: 0, end: 2, speaker: 5 },
    ];
    expect(speakersOf((await search('voices', [word(0), word(2), word(3)])).words)).toEqual(['A', 'B', 'B']);
  });

  it('counts one speaker where one voice is found, or none that is long enough to be told from others', async () => {
    for (const segments of [[{ start: 0, end: 4, speaker: 0 }], []]) {
      diarize = async () => segments;
      const { words, speakers } = await search('voices', [word(0), word(3)]);
      expect([speakersOf(words), speakers?.count]).toEqual([['A', 'A'], 1]);
    }
  });

  it('counts none where nobody speaks, and does not look for any', async () => {
    const { speakers, problem: none } = await search('voices', []);
    expect([speakers, none, asked]).toEqual([{ count: 0, model: 'voices-1' }, null, []]);
  });

  it('tells how many there are at most', async () => {
    const started = await begin('voices', 2);
    await started.label({ text: 'word0', words: [word(0)], seconds: 1 });
    await started.end();
    expect(asked).toMatchObject([{ speakers: 2 }]);
  });

  it.each<SpeakerSource>(['voices', 'channels', 'engine'])(
    'says of words without times that it is not known who says which, with %s, and does not look',
    async (source) => {
      const { words, speakers, problem: why } = await search(source, [], { text: 'hello' });
      expect([words, speakers, why, asked]).toEqual([[], null, NO_WORD_TIMES, []]);
    },
  );

  it('makes no file without models, and says what is missing', async () => {
    problem = 'No models for speakers are selected.';
    const started = await begin();
    await started.add(Buffer.from('sound'));
    expect(await files()).toEqual([]);
    const labelled = await started.label({ text: 'word0', words: [word(0, { speaker: 'x' })], seconds: 4 });
    expect(started.result(labelled)).toEqual({ words: [word(0)], speakers: null, problem });
    await started.end();
  });

  it('leaves words without speakers when the diarizer fails', async () => {
    diarize = () => Promise.reject(new EngineError('the process was lost', true));
    const { labelled, words, speakers, problem: why } = await search('voices', [word(0), word(2)]);
    expect([labelled, speakersOf(words)]).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
    expect([speakers, why]).toEqual([null, FAILED]);
  });

  it('leaves words without speakers when the audio cannot be kept', async () => {
    await rm(join(folder, 'spool'), { recursive: true });
    const started = await begin();
    await started.add(Buffer.from('sound'));
    const words = await started.label({ text: 'word0', words: [word(0)], seconds: 4 });
    expect(started.result(words)).toEqual({ words: [word(0)], speakers: null, problem: FAILED });
    await started.end();
    expect(asked).toEqual([]);
  });

  it('ends with the reason of the signal, and leaves no file', async () => {
    const reason = new Error('the lease was lost');
    diarize = () => {
      abort.abort(reason);
      return Promise.reject(new EngineError('ended', false));
    };
    const started = await begin();
    await expect(started.label({ text: 'word0', words: [word(0)], seconds: 4 })).rejects.toBe(reason);
    expect(await files()).toHaveLength(1);
    await started.end();
    expect(await files()).toEqual([]);
  });

  it('keeps the labels of a recording that is transcribed again', async () => {
    [rerunOf, served] = ['recording', [word(0, { speaker: 'B' }), word(2, { speaker: 'A' })]];
    const { labelled, words, speakers } = await search('voices', [word(0), word(2)]);
    expect([labelled, speakersOf(words), speakers?.count]).toEqual([['A', 'B'], ['B', 'A'], 2]);
  });

  it('has a speaker for each channel, and needs neither a file nor a model', async () => {
    problem = 'No models for speakers are selected.';
    const words = [word(0, { channel: 1 }), word(1, { channel: 0 }), word(2, { channel: 1 })];
    const found = await search('channels', words);
    expect(found.words.map(({ channel, speaker }) => [channel, speaker])).toEqual([
      [1, 'A'],
      [0, 'B'],
      [1, 'A'],
    ]);
    expect([found.speakers, found.problem, asked]).toEqual([{ count: 2, model: 'channels' }, null, []]);
  });

  it('takes the names of an engine, and for words without one that of the nearest', async () => {
    const words = [
      word(0, { speaker: 'agent' }),
      word(1),
      word(2, { speaker: 'caller' }),
      word(3, { speaker: 'agent' }),
    ];
    const found = await search('engine', words);
    expect(speakersOf(found.words)).toEqual(['A', 'A', 'B', 'A']);
    expect([found.speakers, asked]).toEqual([{ count: 2, model: 'fake fake-1' }, []]);
  });

  it('says so when an engine has labelled no word', async () => {
    const { words, speakers, problem: why } = await search('engine', [word(0)]);
    expect([words, speakers, why]).toEqual([[word(0)], null, NOT_LABELLED]);
  });

  it('labels again what filters have made without labels, with others, or without the first speaker', async () => {
    const four = [word(0), word(1), word(2), word(3)];
    const shown = async (filter: (words: TranscriptWord[]) => TranscriptWord[]) => {
      const { labelled, words, speakers } = await search('voices', four, { filter });
      expect(labelled).toEqual(['A', 'A', 'B', 'B']);
      return [speakersOf(words), speakers?.count];
    };
    expect(await shown((words) => words.map(({ start }) => word(start)))).toEqual([['A', 'A', 'B', 'B'], 2]);
    expect(await shown((words) => words.map((each) => ({ ...each, speaker: 'Ada' })))).toEqual([
      ['A', 'A', 'B', 'B'],
      2,
    ]);
    expect(await shown((words) => words.slice(2))).toEqual([['A', 'A'], 1]);
    expect(await shown(() => [])).toEqual([[], 0]);
  });
});
