import { cuesOf, type ExportSource } from './cues.js';
import { subRipOf } from './render-export.js';

type Spoken = [word: string, start: number, end: number, channel?: number];

const source = (...spoken: Spoken[]): ExportSource => ({
  text: spoken.map(([word]) => word).join(' '),
  words: spoken.map(([word, start, end, channel]) => ({
    word,
    start,
    end,
    ...(channel === undefined ? {} : { channel }),
  })),
  durationSeconds: 60,
});

const shown = (...spoken: Spoken[]): [number, number, string][] =>
  cuesOf(source(...spoken)).map(({ startMs, endMs, text }) => [startMs, endMs, text]);

describe('the times of cues', () => {
  it.each<[string, Spoken, [number, number]]>([
    ['a second at least', ['a', 2, 2.2], [2000, 3000]],
    ['as long as the words take', ['a', 2, 3.5], [2000, 3500]],
    ['seven seconds at most', ['a', 2, 9.001], [2000, 9000]],
    ['whole milliseconds', ['a', 1.0006, 3.0004], [1001, 3000]],
  ])('are %s', (_, spoken, [start, end]) => {
    expect(shown(spoken)).toEqual([[start, end, spoken[0]]]);
  });

  it('of one channel do not overlap: the next comes when the one before is gone', () => {
    expect(shown(['one.', 0, 0.1], ['two', 1.2, 1.3])).toEqual([
      [0, 1000, 'one.'],
      [1200, 2200, 'two'],
    ]);
    expect(shown(['one', 0, 0.1, 0], ['two', 0.2, 0.3, 1], ['three', 0.4, 3, 0])).toHaveLength(2);
    const both = cuesOf(source(['one', 0, 0.1, 0], ['two', 0.5, 0.6, 1]));
    expect(both.map(({ startMs, endMs, channel }) => [startMs, endMs, channel])).toEqual([
      [0, 1000, 0],
      [500, 1500, 1],
    ]);
  });

  const [x, y, z] = ['x'.repeat(42), `${'y'.repeat(41)},`, 'z'.repeat(42)] as const;

  it('come later where two lines are said in less than a second', () => {
    expect(shown([x, 0, 0.1], [y, 0.2, 0.3], [z, 0.4, 0.5])).toEqual([
      [0, 1000, `${x} ${y}`],
      [1000, 2000, z],
    ]);
  });

  it('end where the next word begins, though an engine reports a word for longer', () => {
    expect(shown([x, 0, 1], [y, 1, 6], [z, 2, 3])).toEqual([
      [0, 2000, `${x} ${y}`],
      [2000, 3000, z],
    ]);
  });
});

describe('the parts of a long word', () => {
  it.each([
    [42, [42]],
    [43, [42, 1]],
    [85, [42, 42, 1]],
  ])('of %s characters have %j', (length, parts) => {
    const cues = cuesOf(source(['x'.repeat(length), 0, 1]));
    const lines = cues.flatMap((cue) => cue.lines);
    expect(cues.map(({ text }) => text).join('')).toBe('x'.repeat(length));
    expect(lines.map((line) => line.length)).toEqual(parts);
  });

  it('never cut a character, unless it is longer than a line itself', () => {
    const family = '👩‍👩‍👧‍👦';
    const lines = cuesOf(source([family.repeat(5), 0, 2])).flatMap((cue) => cue.lines);
    expect(lines).toEqual([family.repeat(3), family.repeat(2)]);
    const pile = `a${'\u0301'.repeat(60)}`;
    const piled = cuesOf(source([pile, 0, 2])).flatMap((cue) => cue.lines);
    expect(piled.map((line) => line.length)).toEqual([42, 19]);
  });

  it('end a sentence only with the last of them', () => {
    const word = `${'x'.repeat(83)}.`;
    expect(shown([word, 0, 8.4], ['Next', 8.4, 9])).toEqual([
      [0, 4200, 'x'.repeat(42)],
      [4200, 8400, `${'x'.repeat(41)}.`],
      [8400, 9400, 'Next'],
    ]);
  });
});

describe('the names of channels in SubRip', () => {
  const lines = (...spoken: Spoken[]) => subRipOf(source(...spoken)).split('\n');

  it('stand before the first words of each turn, and take no time', () => {
    expect(lines(['one', 1, 2, 0], ['two', 4, 5, 0], ['three', 7, 8, 1])).toEqual([
      '1',
      '00:00:01,000 --> 00:00:02,000',
      'Channel 0: one',
      '',
      '2',
      '00:00:04,000 --> 00:00:05,000',
      'two',
      '',
      '3',
      '00:00:07,000 --> 00:00:08,000',
      'Channel 1: three',
      '',
    ]);
  });

  it('leave every word of the turn after them', () => {
    expect(lines(['one', 1, 1.5, 0], ['two', 1.5, 2, 0], ['three', 2, 2.5, 0])[2]).toBe('Channel 0: one two three');
  });

  it('are left out where the channels were transcribed together', () => {
    expect(lines(['one', 1, 2])[2]).toBe('one');
  });
});
