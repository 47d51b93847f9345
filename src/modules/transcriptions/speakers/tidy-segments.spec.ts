import { MIN_VOICE_SECONDS, tidySegments } from './tidy-segments.js';

type Row = [start: number, end: number, speaker: number];

const tidy = (rows: Row[], seconds = 100, most: number | null = null): Row[] =>
  tidySegments(
    rows.map(([start, end, speaker]) => ({ start, end, speaker })),
    seconds,
    most,
  ).map(({ start, end, speaker }) => [start, end, speaker]);

describe('tidySegments', () => {
  it('sorts by start and numbers the speakers by first appearance', () => {
    const rows: Row[] = [
      [20, 30, 4],
      [0, 10, 7],
      [10, 20, 2],
    ];
    expect(tidy(rows)).toEqual([
      [0, 10, 0],
      [10, 20, 1],
      [20, 30, 2],
    ]);
  });

  it('ends at the end of the audio, and drops what begins after it', () => {
    const rows: Row[] = [
      [-1, 5, 0],
      [8, 12.5, 1],
      [11, 13, 0],
    ];
    expect(tidy(rows, 10)).toEqual([
      [0, 5, 0],
      [8, 10, 1],
    ]);
  });

  it('keeps the overlap of two speakers, and joins that of one with himself', () => {
    const rows: Row[] = [
      [0, 5, 0],
      [3, 8, 0],
      [8, 9, 0],
      [4, 12, 1],
    ];
    expect(tidy(rows)).toEqual([
      [0, 9, 0],
      [4, 12, 1],
    ]);
  });

  it('gives a voice of a few hundred milliseconds to its neighbour in time', () => {
    const rows: Row[] = [
      [0, 5, 0],
      [5.2, 5.6, 2],
      [9, 15, 1],
    ];
    expect(tidy(rows)).toEqual([
      [0, 5, 0],
      [5.2, 5.6, 0],
      [9, 15, 1],
    ]);
    // In all, not at a time.
    const often = Array.from({ length: 5 }, (_, i): Row => [20 + i, 20.3 + i, 2]);
    expect(new Set(tidy([...rows, ...often]).map(([, , speaker]) => speaker)).size).toBe(3);
  });

  it('keeps the only voice, however short it is', () => {
    expect(tidy([[1, 1 + MIN_VOICE_SECONDS / 2, 3]])).toEqual([[1, 1 + MIN_VOICE_SECONDS / 2, 0]]);
    expect(tidy([])).toEqual([]);
  });

  it('has no more people than there can be: the quietest are given to their neighbours', () => {
    const rows: Row[] = [
      [0, 5, 0],
      [6, 8, 1],
      [9, 15, 2],
    ];
    expect(tidy(rows, 100, 2)).toEqual([
      [0, 5, 0],
      [6, 8, 0],
      [9, 15, 1],
    ]);
    expect(new Set(tidy(rows, 100, 1).map(([, , speaker]) => speaker)).size).toBe(1);
    expect(tidy(rows, 100, 3)).toEqual(rows);
    expect(tidy(rows, 100, 20)).toEqual(rows);
  });

  it('makes two people of a thousand voices in two hours without holding others up', () => {
    const rows = Array.from({ length: 10_000 }, (_, i): Row => [0.72 * i, 0.72 * i + 0.7, i % 1000]);
    expect(new Set(tidy(rows, 7200, 2).map(([, , speaker]) => speaker)).size).toBe(2);
  });
});
