import type { ChunkTranscript, TranscriptWord } from '../engines/transcription-engine.js';
import { type Calibration, calibratedConfidence } from './calibration.js';

/**
 * A transcript with confidences that mean what they say: of the words with 0.9, nine in ten are correct. That of the
 * whole is the mean of its words, the share of them that is expected to be correct. Without a mapping nothing changes.
 */
export function calibrated(transcript: ChunkTranscript, calibration: Calibration | undefined): ChunkTranscript {
  if (!calibration || calibration.points.length === 0) return transcript;
  const map = (confidence: number | null): number | null =>
    confidence === null ? null : calibratedConfidence(calibration.points, confidence);
  const words = transcript.words.map((word) => ({ ...word, confidence: map(word.confidence) }));
  return { ...transcript, words, confidence: meanOf(words) ?? map(transcript.confidence) };
}

/** Null unless every word has a confidence. */
function meanOf(words: readonly TranscriptWord[]): number | null {
  if (words.length === 0) return null;
  let sum = 0;
  for (const { confidence } of words) {
    if (confidence === null) return null;
    sum += confidence;
  }
  return sum / words.length;
}
