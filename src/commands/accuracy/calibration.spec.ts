import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { calibratedConfidence } from '../../modules/transcriptions/engines/calibration.js';
import { POCKETSPHINX_EN_US } from '../../modules/transcriptions/engines/calibration.js';
import { applied, crossValidate, fitIsotonic, type JudgedWord, reliabilityOf, wilsonInterval } from './calibration.js';
import { randomNumbers } from './resampling.js';

const judged = (confidence: number, correct: number, wrong: number): JudgedWord[] =>
  [true, false].flatMap((isCorrect) =>
    Array.from({ length: isCorrect ? correct : wrong }, () => ({ confidence, correct: isCorrect })),
  );

/** Recordings of 10 words of an engine that is surer than it should be: correct is the square of its confidence. */
function overconfident(recordings: number, seed: number): JudgedWord[][] {
  const random = randomNumbers(seed);
  const word = (): JudgedWord => {
    const confidence = random();
    return { confidence, correct: random() < confidence ** 2 };
  };
  return Array.from({ length: recordings }, () => Array.from({ length: 10 }, word));
}

describe('reliabilityOf', () => {
  it('is 0 for an engine whose confidence is the share of correct words', () => {
    const words = [...judged(0.25, 1, 3), ...judged(0.75, 3, 1)];
    expect(reliabilityOf(words)).toEqual({
      words: 8,
      bins: [
        { from: 0.2, to: 0.3, count: 4, confidence: 0.25, accuracy: 0.25 },
        { from: 0.7, to: 0.8, count: 4, confidence: 0.75, accuracy: 0.75 },
      ],
      expectedCalibrationError: 0,
      brierScore: 0.1875,
    });
  });

  it('is the mean distance, weighted by the words of a bin', () => {
    const { expectedCalibrationError } = reliabilityOf([...judged(1, 1, 1), ...judged(0.05, 0, 6)]) ?? {};
    expect(expectedCalibrationError).toBeCloseTo((2 * 0.5 + 6 * 0.05) / 8, 10);
  });

  it('of no words is unknown', () => {
    expect(reliabilityOf([])).toBeNull();
  });
});

describe('wilsonInterval', () => {
  it('is known for 5 of 10, and stays within 0 and 1', () => {
    const { low, high } = wilsonInterval(0.5, 10);
    expect([low, high]).toEqual([expect.closeTo(0.2366, 3), expect.closeTo(0.7634, 3)]);
    expect(wilsonInterval(1, 3).high).toBe(1);
    expect(wilsonInterval(0, 3).low).toBe(0);
  });
});

describe('fitIsotonic', () => {
  it('pools neighbours that are in the wrong order', () => {
    // 1 of 4 at 0.2, 3 of 4 at 0.4 and 1 of 4 at 0.6, which together are 4 of 8; 4 of 4 at 0.9.
    const words = [...judged(0.2, 1, 3), ...judged(0.4, 3, 1), ...judged(0.6, 1, 3), ...judged(0.9, 4, 0)];
    expect(fitIsotonic(words, 4)).toEqual([
      [0.2, 0.3333],
      [0.5, 0.5],
      [0.9, 0.8333],
    ]);
  });

  it('never falls, whatever the words, and never says 0 or 1', () => {
    const word = fc.record({ confidence: fc.double({ min: 0, max: 1, noNaN: true }), correct: fc.boolean() });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 300 }), (words) => {
        const points = fitIsotonic(words, 10);
        points.forEach(([reported, correct], index) => {
          const [before, correctBefore] = points[index - 1] ?? [-1, 0];
          expect(reported).toBeGreaterThanOrEqual(before);
          expect(correct).toBeGreaterThanOrEqual(correctBefore);
          expect(correct).toBeLessThan(1);
        });
        expect(points[0]?.[1]).toBeGreaterThan(0);
      }),
    );
  });

  it('finds the mapping of an engine that is surer than it should be', () => {
    const points = fitIsotonic(overconfident(2000, 1).flat());
    for (const confidence of [0.3, 0.5, 0.7, 0.9]) {
      expect(Math.abs(calibratedConfidence(points, confidence) - confidence ** 2)).toBeLessThan(0.06);
    }
  });

  it('lowers the calibration error on recordings that it has never seen', () => {
    const held = overconfident(400, 2).flat();
    const points = fitIsotonic(overconfident(400, 3).flat());
    const [before, after] = [held, applied(points, held)].map(
      (words) => reliabilityOf(words)?.expectedCalibrationError,
    );
    expect(before).toBeGreaterThan(0.12);
    expect(after).toBeLessThan(0.05);
  });
});

describe('crossValidate', () => {
  it('applies to each recording a mapping from others', () => {
    const files = overconfident(300, 4);
    const { heldOut, points } = crossValidate(files);
    expect(heldOut).toHaveLength(300);
    expect(reliabilityOf(heldOut.flat())?.expectedCalibrationError).toBeLessThan(0.05);
    expect(points).toEqual(fitIsotonic(files.flat()));
  });
});

/** Words of recordings by ten speakers, none of whom the mapping was fitted to, as PocketSphinx reports them. */
interface HeldOutRecording {
  recording: string;
  words: [confidence: number, correct: 0 | 1][];
}

describe('the mapping of PocketSphinx', () => {
  it('lowers the calibration error on recordings of other speakers', () => {
    const file = new URL('../../../test/fixtures/calibration/pocketsphinx-held-out.json', import.meta.url);
    const recordings = JSON.parse(readFileSync(file, 'utf8')) as HeldOutRecording[];
    const words = recordings.flatMap((recording) =>
      recording.words.map(([confidence, correct]) => ({ confidence, correct: correct === 1 })),
    );
    const [before, after] = [words, applied(POCKETSPHINX_EN_US.points, words)].map(
      (judgedWords) => reliabilityOf(judgedWords)?.expectedCalibrationError ?? NaN,
    ) as [number, number];
    expect(words.length).toBeGreaterThan(200);
    expect(after).toBeLessThan(before - 0.05);
  });
});
