import type { TranscriptWord } from '../engines/transcription-engine.js';
import { unitsOf } from '../text/tokens.js';
import { alignUnits } from '../text/align-units.js';
import { joinSeam, SeamJoiner } from './join-seams.js';
import { joinTranscripts, TextJoiner, type TranscribedChunk } from './join-transcripts.js';

/** A word as it is said. */
interface Said {
  word: string;
  start: number;
  end: number;
}

/** Reproducible, 0 to 1. */
function randomBy(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const ENGLISH = (
  'the of and to in a is that it was for on are with as they at be this from I have or by one had not but what all were ' +
  'when we there can an your which their said if do will each about how up out them then she many some so these would ' +
  'other into has more two like him see time could no make than first been its who now people my made over did down ' +
  'only way find use may water long little very after words called just where most know very very no no again again'
).split(' ');
const CHINESE =
  '的 一 是 不 了 在 人 有 我 他 这 个 们 中 来 上 大 为 和 国 地 到 以 说 时 要 就 出 会 可 也 你 对 生 能 而 子 那 得 于 着 下 自 之 年 过 发 后 作 里'.split(
    ' ',
  );

/** Said without a pause: words of 0.1 to 0.6 s, some of them twice or three times in a row, and digits one by one. */
function speech(seconds: number, vocabulary: readonly string[]): Said[] {
  const random = randomBy(7);
  const words: Said[] = [];
  let at = 0;
  while (at < seconds) {
    const word =
      random() < 0.05 ? String(Math.floor(random() * 10)) : vocabulary[Math.floor(random() * vocabulary.length)]!;
    const times = random() < 0.04 ? 2 + Math.floor(random() * 2) : 1;
    for (let time = 0; time < times; time++) {
      const length = 0.1 + Math.min(0.35, 0.05 * word.length) + 0.15 * random();
      words.push({ word, start: at, end: at + length });
      at += length + (random() < 0.3 ? 0.05 * random() : 0);
    }
  }
  return words;
}

interface Listener {
  words: boolean;
  /** Between words. */
  space: string;
}

/**
 * What an engine hears of the audio between two times. Of a word that a cut divides it hears nothing, or something else.
 * It begins with a capital and ends with a full stop, and is off by up to 0.1 s.
 */
function hear(
  all: readonly Said[],
  from: number,
  to: number,
  { words: givesWords, space }: Listener,
): TranscribedChunk {
  const random = randomBy(Math.round(from * 1000) + 1);
  const first = firstAfter(all, from);
  const words: TranscriptWord[] = [];
  for (let index = first; index < all.length && all[index]!.start < to; index++) {
    const { word, start, end } = all[index]!;
    const inside = (Math.min(end, to) - Math.max(start, from)) / (end - start);
    const isWhole = inside > 0.95;
    if (!isWhole && (inside < 0.3 || random() < 0.3)) continue;
    const off = 0.2 * (random() - 0.5);
    const heard = isWhole ? word : space === '' ? '嗯' : `${word.slice(0, 1)}uh`;
    const at = Math.max(from, start + off);
    words.push({ word: heard, start: at - from, end: Math.max(at, Math.min(to, end + off)) - from, confidence: 0.9 });
  }
  const text = words.map(({ word }, index) => (index % 9 === 8 ? `${word},` : word)).join(space);
  return {
    start: from,
    seconds: to - from,
    transcript: {
      text: space === '' ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`,
      confidence: 0.9,
      language: 'english',
      words: givesWords ? words : [],
    },
  };
}

function firstAfter(all: readonly Said[], time: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.end <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Without punctuation and case; characters where there are no spaces. */
function unitsIn(text: string, { space }: Listener): string[] {
  const units = text.split(/\s+/).flatMap(unitsOf).filter(Boolean);
  return space === '' ? [...units.join('')] : units;
}

const saidBetween = (all: readonly Said[], from: number, to: number, listener: Listener): string[] =>
  unitsIn(
    all
      .slice(firstAfter(all, from), firstAfter(all, to))
      .map(({ word }) => word)
      .join(listener.space),
    listener,
  );

/** Units that were said and are not there, and units that are there and were not said. */
function differences(said: readonly string[], found: readonly string[]): { lost: number; doubled: number } {
  const both = alignUnits(said, found).filter((index) => index >= 0).length;
  return { lost: said.length - both, doubled: found.length - both };
}

const OVERLAP = 2;
const TIMED: Listener = { words: true, space: ' ' };
const TEXT_ONLY: Listener = { words: false, space: ' ' };

describe('a long text, cut at every place', () => {
  it.each([
    ['with times of words', 7200, ENGLISH, TIMED],
    ['as text only', 7200, ENGLISH, TEXT_ONLY],
    ['of a script without spaces', 600, CHINESE, { words: true, space: '' }],
    ['of a script without spaces, as text only', 600, CHINESE, { words: false, space: '' }],
  ])('loses and doubles no word %s (%d s)', (_, seconds, vocabulary, listener) => {
    const all = speech(seconds, vocabulary);
    let [lost, doubled, seams] = [0, 0, 0];
    for (const [index, { start, end }] of all.entries()) {
      // At the start of a word, or within it.
      const cut = start + ((index % 4) / 4) * (end - start);
      if (cut < 8 || cut > seconds - 8) continue;
      const [from, to] = [all[firstAfter(all, cut - 5)]!.end, all[firstAfter(all, cut + 3)]!.start];
      const before = { ...hear(all, from, cut, listener), continues: true as const };
      const parts = joinSeam(before, hear(all, cut - OVERLAP, to, listener));
      const text = parts.map(({ transcript }) => transcript.text).join(listener.space);
      const found = unitsIn(text, listener);
      const said = saidBetween(all, from, to, listener);
      seams++;
      if (found.join(' ') === said.join(' ')) continue;
      const counts = differences(said, found);
      lost += counts.lost;
      doubled += counts.doubled;
    }
    expect({ lost, doubled }).toEqual({ lost: 0, doubled: 0 });
    expect(seams).toBeGreaterThan(all.length * 0.95);
  });
});

/** Chunks of 15 s that are all cut within speech. */
function chunksOf(all: readonly Said[], seconds: number, first: number, listener: Listener): TranscribedChunk[] {
  const chunks: TranscribedChunk[] = [];
  for (let [from, to] = [0, first]; ; [from, to] = [to - OVERLAP, to - OVERLAP + 15]) {
    if (to >= seconds) return [...chunks, hear(all, from, seconds + 1, listener)];
    chunks.push({ ...hear(all, from, to, listener), continues: true });
  }
}

function joined(chunks: readonly TranscribedChunk[]): TranscribedChunk[] {
  const seams = new SeamJoiner();
  return [...chunks.flatMap((chunk) => seams.add(chunk)), ...seams.end()];
}

describe('a whole text of overlapping chunks', () => {
  const SECONDS = 600;
  const all = speech(SECONDS, ENGLISH);

  it.each([3, 7.3, 11.1, 14.9])('has every word once, with its time, first cut at %d s', (first) => {
    const { text, words } = joinTranscripts(joined(chunksOf(all, SECONDS, first, TIMED)));
    expect(unitsIn(text, TIMED)).toEqual(all.flatMap(({ word }) => unitsOf(word)));
    expect(words.map(({ word }) => word)).toEqual(all.map(({ word }) => word));
    expect(Math.max(...words.map((word, index) => Math.abs(word.start - all[index]!.start)))).toBeLessThan(0.11);
  });

  it('is the same piece by piece', () => {
    const seams = new SeamJoiner();
    const joiner = new TextJoiner();
    const chunks = chunksOf(all, 120, 7.3, TIMED);
    let text = '';
    const add = (finished: readonly TranscribedChunk[]): void => {
      for (const chunk of finished) {
        const piece = joiner.add(chunk);
        expect(piece?.offset).toBe(text.length);
        text += piece?.text;
      }
    };
    for (const chunk of chunks) add(seams.add(chunk));
    add(seams.end());
    expect(text).toBe(joinTranscripts(joined(chunks)).text);
  });

  it('covers the time once', () => {
    const chunks = joined(chunksOf(all, 120, 7.3, TIMED));
    let end = 0;
    for (const { start, seconds } of chunks) {
      expect(start).toBeCloseTo(end, 6);
      end = start + seconds;
    }
    expect(end).toBeCloseTo(121, 6);
  });
});

function chunkOf(start: number, seconds: number, text: string, words: [string, number][] = []): TranscribedChunk {
  const timed = words.map(([word, at]) => ({ word, start: at, end: at + 0.3, confidence: 0.8 }));
  return { start, seconds, transcript: { text, confidence: 0.4, language: 'english', words: timed } };
}

const texts = (chunks: readonly TranscribedChunk[]): string[] => chunks.map(({ transcript }) => transcript.text);

describe('joinSeam', () => {
  it('leaves chunks without an overlap as they are', () => {
    const [a, b] = [chunkOf(0, 10, 'One two.'), chunkOf(10, 5, 'Two three.')];
    expect(joinSeam(a, b)).toEqual([a, b]);
    expect(joinSeam(a, b)[0]).toBe(a);
  });

  it('drops the full stop before the cut and the capital after it', () => {
    const joinedTexts = texts(
      joinSeam(
        chunkOf(0, 10, 'And so we went over to the old mill.'),
        chunkOf(8, 9, 'To the old mill, and then we came back again.'),
      ),
    );
    expect(joinedTexts.join(' ')).toBe('And so we went over to the old mill, and then we came back again.');
  });

  it('keeps the half of a word that a cut divides in neither chunk', () => {
    const before = chunkOf(0, 10, 'we saw the elephant wal', [
      ['we', 7.6],
      ['saw', 7.9],
      ['the', 8.4],
      ['elephant', 8.8],
      ['wal', 9.7],
    ]);
    const after = chunkOf(8, 10, 'aw the elephant walking away', [
      ['aw', 0],
      ['the', 0.4],
      ['elephant', 0.8],
      ['walking', 1.7],
      ['away', 2.2],
    ]);
    const parts = joinSeam(before, after);
    expect(texts(parts).join(' ')).toBe('we saw the elephant walking away');
    const { words } = joinTranscripts(parts);
    expect(words.map(({ word, start }) => [word, start])).toEqual([
      ['we', 7.6],
      ['saw', 7.9],
      ['the', 8.4],
      ['elephant', 8.8],
      ['walking', 9.7],
      ['away', 10.2],
    ]);
  });

  it('tells words that are said several times apart by their times', () => {
    const times = (first: number, count: number, from: number): [string, number][] =>
      Array.from({ length: count }, (_, index) => ['no', first + index * 0.4 - from]);
    const before = chunkOf(0, 10, 'no no no no no no', times(7.6, 6, 0));
    const after = chunkOf(8, 10, 'no no no no no no no', times(8.05, 7, 8));
    expect(joinTranscripts(joinSeam(before, after)).words).toHaveLength(8);
  });

  it('takes the confidence of the words that are left', () => {
    const parts = joinSeam(
      chunkOf(0, 10, 'a b', [
        ['a', 8.2],
        ['b', 9],
      ]),
      chunkOf(8, 10, 'a b c', [
        ['a', 0.2],
        ['b', 1],
        ['c', 3],
      ]),
    );
    expect(parts.map(({ transcript }) => transcript.confidence)).toEqual([0.8, 0.8]);
    expect(texts(parts)).toEqual(['a', 'b c']);
  });

  it('keeps all that only one of the two has heard', () => {
    expect(
      texts(
        joinSeam(
          chunkOf(0, 10, 'a b', [
            ['a', 1],
            ['b', 2],
          ]),
          chunkOf(8, 10, 'c d', [
            ['c', 0.2],
            ['d', 1],
          ]),
        ),
      ),
    ).toEqual(['a b', 'c d']);
    expect(
      texts(
        joinSeam(
          chunkOf(0, 10, 'a b', [
            ['a', 8.2],
            ['b', 9],
          ]),
          chunkOf(8, 10, 'c d', [
            ['c', 3],
            ['d', 4],
          ]),
        ),
      ),
    ).toEqual(['a b', 'c d']);
    expect(texts(joinSeam(chunkOf(0, 10, 'a b'), chunkOf(8, 10, '')))).toEqual(['a b', '']);
    expect(texts(joinSeam(chunkOf(0, 10, ''), chunkOf(8, 10, 'a b')))).toEqual(['', 'a b']);
  });

  it('divides by time what was heard in two languages, and keeps what lies on the middle once', () => {
    const german = chunkOf(0, 10, 'wir gehen jetzt dann', [
      ['wir', 8.1],
      ['gehen', 8.5],
      ['jetzt', 8.9],
      ['dann', 9.4],
    ]);
    const english = chunkOf(8, 10, 'veer gain yet stan off', [
      ['veer', 0.1],
      ['gain', 0.5],
      ['yet', 0.8],
      ['stan', 1.4],
      ['off', 2.5],
    ]);
    expect(texts(joinSeam(german, english)).join(' ')).toBe('wir gehen jetzt stan off');
  });
});

describe('SeamJoiner', () => {
  it('holds a chunk only until the next has come', () => {
    const seams = new SeamJoiner();
    const first = {
      ...chunkOf(0, 10, 'one two three', [
        ['one', 1],
        ['two', 8.2],
        ['three', 9],
      ]),
      continues: true as const,
    };
    const second = chunkOf(8, 7, 'two three four', [
      ['two', 0.2],
      ['three', 1],
      ['four', 3],
    ]);
    expect(seams.add(chunkOf(0, 0, 'before'))).toHaveLength(1);
    expect(seams.add(first)).toEqual([]);
    expect(texts(seams.add(second)).join(' ')).toBe('one two three four');
    expect(seams.end()).toEqual([]);
  });

  it('gives a chunk that is the last as it was heard', () => {
    const seams = new SeamJoiner();
    const only = { ...chunkOf(0, 10, 'one.'), continues: true as const };
    expect(seams.add(only)).toEqual([]);
    expect(seams.end()).toEqual([only]);
  });
});
