import { droppedWords } from '../../speech/invented-words.js';
import { outside, reviewSegments, type Segment, withoutRepeatsIn } from './openai.segments.js';

const segment = (text: string, changes: Partial<Segment> = {}): Segment => ({
  text,
  start: 0,
  end: 5,
  logprob: -0.1,
  noSpeech: 0.01,
  compression: null,
  words: [],
  ...changes,
});

const SILENT = { logprob: -0.9, noSpeech: 0.8 };
const FAILED = { logprob: -1.3, compression: 6 };
const texts = (segments: readonly Segment[]): string[] => segments.map(({ text }) => text);
const word = (text: string, start: number, end: number) => ({ word: text, start, end, confidence: null });

async function counted(): Promise<unknown[]> {
  const { values } = await droppedWords.get();
  return values.map(({ labels, value }) => [labels.engine, labels.reason, value]);
}

describe('reviewSegments', () => {
  beforeEach(() => droppedWords.reset());

  it('counts the words of what it drops as silence, by engine', async () => {
    const { kept, dropped } = reviewSegments([segment('Hello.'), segment(' Thank  you.', SILENT)], 'whisper');
    expect([texts(kept), texts(dropped)]).toEqual([['Hello.'], [' Thank  you.']]);
    expect(await counted()).toEqual([['whisper', 'no_speech', 2]]);
  });

  it('counts the words of repeated segments, and the repeats that a failed one loses', async () => {
    const loop = Array.from({ length: 8 }, (_, i) => segment('Thank you.', { start: i, end: i + 1 }));
    const failed = segment('So, no no no no no. Bye', FAILED);
    const { kept, dropped, shortened } = reviewSegments([...loop, failed], 'whisper');
    expect([texts(kept), texts(dropped).length]).toEqual([['Thank you.', 'So, no Bye'], 7]);
    expect(shortened).toEqual([failed]);
    expect(await counted()).toEqual([['whisper', 'repetition', 7 * 2 + 4]]);
  });

  it('counts no description of sound, which is no word', async () => {
    expect(texts(reviewSegments([segment('[MUSIC]', SILENT)], 'whisper').dropped)).toEqual(['[MUSIC]']);
    expect(await counted()).toEqual([]);
  });

  it('keeps the order of what it keeps, drops and shortens', () => {
    const said = [segment('a'), segment('x', SILENT), segment('b'), segment('y', SILENT)];
    const failed = [segment('no no no no no one', FAILED), segment('ha ha ha ha ha two', FAILED)];
    const { kept, dropped, shortened } = reviewSegments([...said, ...failed], 'whisper');
    expect([texts(kept), texts(dropped)]).toEqual([
      ['a', 'b', 'no one', 'ha two'],
      ['x', 'y'],
    ]);
    expect(shortened).toEqual(failed);
  });

  it('shortens no failed segment without repeats', () => {
    const failed = segment(' not  at all ', FAILED);
    expect(reviewSegments([failed], 'whisper')).toMatchObject({ kept: [{ text: 'not at all' }], shortened: [] });
    const once = reviewSegments([segment('no no no no no', FAILED)], 'whisper');
    expect(once.shortened).toHaveLength(1);
  });

  it.each([
    [2.41, 'no'],
    [2.4, 'no no no no no'],
  ])('takes a compression of more than 2.4 for a failure: %s', (compression, text) => {
    const { kept } = reviewSegments([segment('no no no no no', { logprob: -1.3, compression })], 'whisper');
    expect(texts(kept)).toEqual([text]);
  });

  it('computes a compression without the blanks around the text, as the server would', () => {
    const text = Array(24).fill('no').join(' ');
    const { kept } = reviewSegments([segment(text, { logprob: -1.3 })], 'whisper');
    expect(texts(kept)).toEqual(['no']);
    const short = `${' '.repeat(200)}no no no no no`;
    expect(texts(reviewSegments([segment(short, { logprob: -1.3 })], 'whisper').kept)).toEqual([short]);
  });

  it.each([
    [1, 'no'],
    [1.009, 'no'],
    [1.011, 'other'],
    [0.989, 'other'],
  ])('takes lengths of segments within 0.02 s for equal: 1 s and %s s', (length, expected) => {
    const loop = Array.from({ length: 9 }, (_, i) =>
      segment('No.', { start: 2 * i, end: 2 * i + (i % 2 === 0 ? 1 : length) }),
    );
    expect(reviewSegments(loop, 'whisper').kept).toHaveLength(expected === 'no' ? 1 : 9);
  });

  it('takes seven equal segments for speech, wherever they stand', () => {
    const seven = Array.from({ length: 7 }, (_, i) => segment('No.', { start: i + 5, end: i + 6 }));
    expect(reviewSegments([segment('Well.'), segment('So.'), ...seven], 'whisper').kept).toHaveLength(9);
  });

  it('takes segments of different texts, or that repeat in turns, for speech', () => {
    const equal = (text: (i: number) => string) =>
      Array.from({ length: 40 }, (_, i) => segment(text(i), { start: i, end: i + 1 }));
    expect(
      reviewSegments(
        equal((i) => `${'abcdefghijklmnopq'[i % 17]}.`),
        'whisper',
      ).kept,
    ).toHaveLength(40);
    expect(
      reviewSegments(
        equal((i) => (i % 2 === 0 ? 'Yes.' : 'No.')),
        'whisper',
      ).kept,
    ).toHaveLength(40);
  });

  it.each([
    [null, -0.9],
    [0.8, null],
    [null, null],
  ])(
    'takes a segment whose server tells a no-speech probability of %s and a logprob of %s for speech',
    (noSpeech, logprob) => {
      expect(reviewSegments([segment('Hello.', { noSpeech, logprob })], 'whisper').dropped).toEqual([]);
    },
  );
});

describe('outside', () => {
  it('keeps the words whose middle lies in no dropped segment', () => {
    const dropped = [segment('', { start: 2, end: 4 }), segment('', { start: 6, end: 7 })];
    const words = [
      word('a', 0, 1),
      word('b', 1, 2.9),
      word('c', 1, 3),
      word('d', 3, 5),
      word('e', 3, 5.1),
      word('f', 6, 6.5),
    ];
    expect(outside(words, dropped).map((each) => each.word)).toEqual(['a', 'b', 'e']);
  });
});

describe('withoutRepeatsIn', () => {
  it('looks for repeats in each segment alone, and leaves other words', () => {
    const no = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => word('no', from + i, from + i + 1));
    const words = [...no(0, 5), ...no(10, 3), ...no(13, 4), word('end', 20, 21)];
    const shortened = [segment('', { start: 0, end: 5 }), segment('', { start: 13, end: 17 })];
    expect(withoutRepeatsIn(shortened, words)).toEqual([words[0], ...words.slice(5)]);
    expect(withoutRepeatsIn([segment('', { start: 10, end: 17 })], words)).toEqual([
      ...words.slice(0, 6),
      words.at(-1),
    ]);
    expect(withoutRepeatsIn([], words)).toEqual(words);
  });
});
