import fc from 'fast-check';
import type { ChunkTranscript } from '../engines/transcription-engine.js';
import { calibrated } from './calibrate-transcript.js';
import { type Calibration, calibratedConfidence, type CalibrationPoint } from './calibration.js';
import { POCKETSPHINX_EN_US } from './pocketsphinx.js';

const POINTS: CalibrationPoint[] = [
  [0.2, 0.1],
  [0.6, 0.5],
  [0.8, 0.9],
];
const CALIBRATION: Calibration = { points: POINTS, date: '2026-11-22', data: 'three words' };

const transcript = (confidence: number | null, words: (number | null)[]): ChunkTranscript => ({
  text: 'go forward',
  confidence,
  language: 'english',
  words: words.map((value, start) => ({ word: 'go', start, end: start + 1, confidence: value })),
});

describe('calibratedConfidence', () => {
  it.each([
    [0, 0.1],
    [0.2, 0.1],
    [0.4, 0.3],
    [0.6, 0.5],
    [0.7, 0.7],
    [1, 0.9],
  ])('of %d is %d', (reported, expected) => {
    expect(calibratedConfidence(POINTS, reported)).toBeCloseTo(expected, 10);
  });
});

describe('calibrated', () => {
  it('maps the words, and takes their mean for the whole', () => {
    const { words, confidence } = calibrated(transcript(0.99, [0.2, 0.6]), CALIBRATION);
    expect(words.map((word) => word.confidence)).toEqual([0.1, 0.5]);
    expect(confidence).toBeCloseTo(0.3, 10);
  });

  it('maps that of the whole where words have none', () => {
    expect(calibrated(transcript(0.8, []), CALIBRATION).confidence).toBe(0.9);
    expect(calibrated(transcript(0.8, [0.2, null]), CALIBRATION)).toMatchObject({ confidence: 0.9 });
    expect(calibrated(transcript(null, [null]), CALIBRATION)).toEqual(transcript(null, [null]));
  });

  it('changes nothing for an engine without a mapping', () => {
    const given = transcript(0.4, [0.1, null]);
    expect(calibrated(given, undefined)).toBe(given);
  });
});

describe('the mapping of PocketSphinx', () => {
  it('rises, and stays within 0 and 1', () => {
    const confidence = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(confidence, confidence, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map((reported) =>
          calibratedConfidence(POCKETSPHINX_EN_US.points, reported),
        ) as [number, number];
        expect(low).toBeLessThanOrEqual(high);
        expect(low).toBeGreaterThan(0);
        expect(high).toBeLessThan(1);
      }),
    );
  });
});
