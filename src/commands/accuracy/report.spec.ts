import { type AccuracyResult, judge } from './measure.js';
import { compareResults, comparisonReport, summaryOf, textReport, worstLines } from './report.js';
import { fitReport } from './calibration.js';
import { reliabilitySvg } from './reliability-svg.js';

type Said = [ref: string, text: string, lang?: string | null];

function resultOf(engine: string, said: Said[], rawConfidence = false): AccuracyResult {
  const files = said.map(([ref, text, lang = 'english'], index) => {
    const words = text.split(' ').map((word, at) => ({ word, start: at, end: at + 1, confidence: 0.75 }));
    const entry = { file: `${index}.wav`, ref, lang };
    return judge(entry, { text, confidence: 0.75, words, durationSeconds: 2 });
  });
  const base = { format: 1 as const, model: 'm', recordings: 'notes', date: '2026-11-22', rawConfidence, jobs: 1 };
  return { ...base, engine, wallSeconds: 3, cpuSeconds: 5, skipped: [{ file: 'x.wav', reason: 'no' }], files };
}

const GOOD: Said[] = [
  ['Go forward, ten meters!', 'go forward ten meters'],
  ['in 1813', 'in eighteen thirteen'],
  ['one two three four', 'one too three'],
];
const POOR: Said[] = [
  ['Go forward, ten meters!', 'go for word ten meters'],
  ['in 1813', 'eighteen fifteen'],
  ['one two three four', 'five'],
];

describe('judge', () => {
  it('counts errors, and judges each word that the engine gave', () => {
    expect(resultOf('a', GOOD).files[2]).toMatchObject({
      errors: { units: 4, substitutions: 1, deletions: 1, insertions: 0 },
      unit: 'word',
      words: [
        ['one', 0.75, 1],
        ['too', 0.75, 0],
        ['three', 0.75, 1],
      ],
      problem: null,
    });
  });

  it('counts all words of a recording that was refused as missing', () => {
    const entry = { file: 'a.wav', ref: 'one two', lang: 'english' };
    expect(judge(entry, { problem: 'too long' })).toMatchObject({
      errors: { units: 2, deletions: 2 },
      problem: 'too long',
    });
  });
});

describe('summaryOf', () => {
  it('adds up the errors, and tells the speed and the calibration', () => {
    const { errors, realTimeFactor, reliability } = summaryOf(resultOf('a', GOOD));
    expect(errors).toMatchObject([{ lang: 'english', unit: 'word', units: 11, files: 3, rate: 2 / 11 }]);
    expect(errors[0]?.interval?.low).toBe(0);
    expect(realTimeFactor).toEqual({ wall: 0.5, cpu: 5 / 6 });
    expect(reliability).toMatchObject({ words: 10, expectedCalibrationError: expect.closeTo(0.15, 10) });
  });

  it('counts characters where there are no spaces, apart from words', () => {
    const { errors } = summaryOf(resultOf('a', [...GOOD, ['今日は', '今日わ', 'japanese']]));
    expect(errors.map(({ lang, unit, units, rate }) => [lang, unit, units, rate])).toEqual([
      ['english', 'word', 11, 2 / 11],
      ['japanese', 'character', 3, 1 / 3],
    ]);
  });
});

describe('the figures by both rules', () => {
  const TWO_WAYS: Said[] = [["We're in colour, number 22", 'we are in color uh number twenty two']];

  it('differ where something is said in another way', () => {
    const { errors } = summaryOf(resultOf('a', TWO_WAYS));
    expect(errors).toMatchObject([{ units: 6, rate: 4 / 6, leaderboard: { units: 6, rate: 0 } }]);
  });

  it('are one figure for other languages, and for results of before', () => {
    const german = resultOf('a', [['eins zwei', 'eins zwei', 'german']]);
    expect(summaryOf(german).errors).toMatchObject([{ leaderboard: null }]);
    expect(textReport(german, summaryOf(german))).not.toContain('Leaderboard');
    const old = resultOf('a', GOOD);
    for (const file of old.files) delete file.leaderboardErrors;
    expect(summaryOf(old).errors).toMatchObject([{ leaderboard: null }]);
  });
});

describe('reports', () => {
  it('tell the errors, the speed, the calibration and what was left out', () => {
    const result = resultOf('a', GOOD);
    const report = textReport(result, summaryOf(result));
    expect(report).toContain('english: word error rate 18.2 % (95 %: 0.0 % to');
    expect(report).toContain('over 11 words in 3 recordings: 1 substitutions, 1 deletions, 0 insertions');
    // Its rules join digits that follow each other: “one two three four” is one word.
    expect(report).toContain('  by the rules of the Open ASR Leaderboard: 42.9 % (95 %:');
    expect(report).toContain('real-time factor: 0.500 wall, 0.833 CPU');
    expect(report).toContain('expected calibration error 0.150');
    expect(report).toContain('1 not measured: no');
  });

  it('show the worst recordings with what was said above what was heard', () => {
    expect(worstLines(resultOf('a', GOOD).files)).toEqual([
      '2.wav: 2 of 4\n  said  one TWO three FOUR\n  heard one TOO three ****',
    ]);
  });

  it('draw the reliability curve', () => {
    const { reliability } = summaryOf(resultOf('a', GOOD));
    const svg = reliabilitySvg('a <b>', reliability!);
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(svg).toContain('a &lt;b&gt;: 10 words');
    expect(svg.match(/<circle /g)).toHaveLength(1);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('compare two results recording by recording', () => {
    const [comparison, ...more] = compareResults(resultOf('a', GOOD), resultOf('b', POOR), ['x.json', 'y.json']);
    expect(more).toEqual([]);
    expect(comparison).toMatchObject({ first: 'a m', second: 'b m', files: 3, leftOut: 0, rates: { first: 2 / 11 } });
    expect(comparison?.result.difference).toBeCloseTo(6 / 11 - 2 / 11 + 2 / 11, 0);
    expect(comparisonReport([comparison!])).toContain('These recordings do not show which is better.');
  });

  it('name two results of the same engine by their files', () => {
    const [comparison] = compareResults(resultOf('a', GOOD), resultOf('a', GOOD), ['before.json', 'after.json']);
    expect(comparison).toMatchObject({
      first: 'before.json',
      second: 'after.json',
      result: { difference: 0, pValue: 1 },
    });
  });

  it('refuse to compare results of other recordings or texts', () => {
    const one = resultOf('a', GOOD);
    expect(() => compareResults(one, resultOf('b', [['other words', 'x']]), ['x', 'y'])).toThrow(
      'differ in what is said in 0.wav',
    );
    expect(() => compareResults(one, { ...one, files: [] }, ['x', 'y'])).toThrow('no recording in common');
  });

  it('fit a mapping to confidences of the engine only', () => {
    expect(() => fitReport([resultOf('a', GOOD)])).toThrow('measure with --raw');
    expect(fitReport([resultOf('a', GOOD, true)]).json).toMatchObject({ words: 10, recordings: 3 });
  });
});
