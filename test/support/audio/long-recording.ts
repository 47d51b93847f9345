import { wav } from './audio-bytes.js';
import { speech } from '../../../src/testing/speech.js';

const HEADER_BYTES = 44;

/** Eleven seconds of speech, so many times over: an engine is at it for a while. */
export async function longRecording(times: number): Promise<Buffer> {
  const samples = (await speech('jfk.wav')).subarray(HEADER_BYTES);
  return wav({ data: Buffer.concat(Array.from({ length: times }, () => samples)) });
}
