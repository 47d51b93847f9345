import type { AudioFormat } from '../formats/audio-format.js';
import type { AudioFacts } from './audio-facts.js';
import type { FileWindow } from '../formats/file-window.js';
import { probeMp3 } from './mp3.probe.js';
import { probeOgg } from './ogg.probe.js';
import { probeWav } from './wav.probe.js';
import { probeWebm } from './webm.probe.js';

export type { AudioFacts } from './audio-facts.js';

const PROBES: Record<AudioFormat, (window: FileWindow) => Promise<AudioFacts>> = {
  webm: probeWebm,
  mp3: probeMp3,
  ogg: probeOgg,
  wav: probeWav,
};

/** Hz, and channels: what the decoder takes. A file that states anything else will not be heard, so it has no length. */
const MIN_SAMPLE_RATE = 4_000;
const MAX_SAMPLE_RATE = 192_000;
const MAX_CHANNELS = 8;

/** Ten days: no recording of 25 MB is that long. In milliseconds it still fits a 32-bit column. */
const MAX_PLAUSIBLE_SECONDS = 864_000;

const MAX_INTEGER = 2 ** 31 - 1;

/**
 * Measures a recording in the process, without decoding it (D21). Every number in the file is distrusted: bad content
 * gives zeros and nulls, it never throws and never takes more than one pass, 128 KiB of memory and a bounded number of
 * steps. Only the errors of the file system itself come through.
 */
export async function probeAudio(window: FileWindow, format: AudioFormat): Promise<AudioFacts> {
  const read = await PROBES[format](window);
  const facts = {
    durationSeconds: 0,
    sampleRate: integer(read.sampleRate),
    channels: integer(read.channels),
    bitRate: integer(read.bitRate),
    codec: read.codec,
  };
  const seconds = Math.round(read.durationSeconds * 1000) / 1000;
  const isCredible = seconds > 0 && seconds <= MAX_PLAUSIBLE_SECONDS && isDecodable(facts);
  return isCredible ? { ...facts, durationSeconds: seconds } : { ...facts, bitRate: null };
}

function isDecodable({ sampleRate, channels }: AudioFacts): boolean {
  const rateFits = sampleRate === null || (sampleRate >= MIN_SAMPLE_RATE && sampleRate <= MAX_SAMPLE_RATE);
  return rateFits && (channels === null || (channels >= 1 && channels <= MAX_CHANNELS));
}

/** Null for what is no number; what is beyond a 32-bit column, as 4 GHz is, becomes the largest that it takes. */
function integer(value: number | null): number | null {
  if (value === null || !Number.isFinite(value) || value < 0) return null;
  return Math.min(Math.round(value), MAX_INTEGER);
}
