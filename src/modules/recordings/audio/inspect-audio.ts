import { type AudioFormat, MAX_CHANNELS, SAMPLE_RATES_HZ } from '../../../platform/audio-formats.js';
import { InvalidRequestError } from '../../../platform/errors/errors.js';
import type { SpoolFile } from '../../../platform/storage/spool.js';
import { probeAac } from './aac.probe.js';
import { probeAmr } from './amr.probe.js';
import type { AudioFacts } from './audio-facts.js';
import { detectFormat, unsupportedFormat } from './audio-format.js';
import { FileWindow } from './file-window.js';
import { probeFlac } from './flac.probe.js';
import { probeM4a } from './m4a.probe.js';
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
  m4a: probeM4a,
  aac: probeAac,
  flac: probeFlac,
  amr: probeAmr,
};

/** Ten days: longer than 25 MB can be, and in milliseconds within a 32-bit column. */
const MAX_PLAUSIBLE_SECONDS = 864_000;

const MAX_INTEGER = 2 ** 31 - 1;

/**
 * Reads length and properties from the file's headers, without decoding (D21). Bad content gives zeros and nulls. The
 * work is bounded: one pass, 128 KiB of memory, a limited number of steps. A file that the decoder would refuse has no
 * length.
 * @throws errors of the file system only
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
  const rateFits = sampleRate === null || (sampleRate >= SAMPLE_RATES_HZ.min && sampleRate <= SAMPLE_RATES_HZ.max);
  return rateFits && (channels === null || (channels >= 1 && channels <= MAX_CHANNELS));
}

/** Null for what is not a number; at most what a 32-bit column takes. */
function integer(value: number | null): number | null {
  if (value === null || !Number.isFinite(value) || value < 0) return null;
  return Math.min(Math.round(value), MAX_INTEGER);
}

/** What an uploaded file is, by its content alone. @throws InvalidRequestError unless its format is accepted */
export async function inspectAudio(
  file: SpoolFile,
  accepted: readonly AudioFormat[],
): Promise<{ format: AudioFormat; facts: AudioFacts }> {
  if (file.sizeBytes === 0) throw new InvalidRequestError({ field: 'file', reason: 'must not be empty' });
  const window = new FileWindow(file.handle, file.sizeBytes);
  const format = await detectFormat(window);
  if (!format || !accepted.includes(format)) {
    const reason = await unsupportedFormat(window, accepted, format);
    throw new InvalidRequestError({ field: 'file', reason });
  }
  return { format, facts: await probeAudio(window, format) };
}
