import type { ChunkTranscript } from '../engines/transcription-engine.js';
import { calibrated } from './calibrate-transcript.js';
import { type Calibration, calibratedConfidence, type CalibrationPoint } from './calibration.js';

const POINTS: CalibrationPoint[] = [
  [0.2, 0.1],
  [0.6, 0.5],
  [0.8, 0.9],
];
const CALIBRATION: Calibration = { points: POINTS, date: '2026-11-22', data: 'made up' };

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
