import {
  type AudioFormat,
  beginsMp4,
  MAX_CHANNELS,
  MP4_MAGIC_BYTES,
  SAMPLE_RATES_HZ,
} from '../../../platform/audio-formats.js';
import { anyOf } from '../../../platform/http/input/text-rules.js';
import { InvalidRequestError } from '../../../platform/errors/errors.js';
import type { SpoolFile } from '../../../platform/storage/spool.js';
import type { Recording } from '../recording.entity.js';
import { ADTS, probeAac } from './aac.probe.js';
import { AMR_NARROWBAND, AMR_WIDEBAND, probeAmr } from './amr.probe.js';
import type { AudioFacts } from './audio-facts.js';
import { FileWindow } from './file-window.js';
import { probeFlac } from './flac.probe.js';
import { isFollowed } from './frame-scan.js';
import { skipId3Tags } from './id3-tags.js';
import { mp4Codec, probeM4a } from './m4a.probe.js';
import { probeMp3, readMpegFrame } from './mp3.probe.js';
import { probeOgg } from './ogg.probe.js';
import { probeWav } from './wav.probe.js';
import { EBML_HEADER_BYTES, probeWebm, readEbmlElement } from './webm.probe.js';

export type { AudioFacts } from './audio-facts.js';

/** What an uploaded file is, by its content alone. @throws InvalidRequestError unless its format is accepted */
async function inspectAudio(
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

/** What is stored of a file beside its bytes. */
export type AudioColumns = Pick<
  Recording,
  'durationMs' | 'fileSizeBytes' | 'audioFormat' | 'sampleRate' | 'channels' | 'bitRate' | 'audioCodec'
>;

/** @throws InvalidRequestError unless the format of the file is accepted */
export async function describeAudio(file: SpoolFile, accepted: readonly AudioFormat[]): Promise<AudioColumns> {
  const { format, facts } = await inspectAudio(file, accepted);
  return {
    durationMs: Math.round(facts.durationSeconds * 1000),
    fileSizeBytes: file.sizeBytes,
    audioFormat: format,
    sampleRate: facts.sampleRate,
    channels: facts.channels,
    bitRate: facts.bitRate,
    audioCodec: facts.codec,
  };
}

/** An EBML header is some 40 bytes; padding behind an ID3 tag seldom exceeds 2 KiB. */
const HEAD_BYTES = 4096;

/** Images in the container of MP4, by the brand behind `ftyp`. */
const IMAGE_BRANDS: Record<string, string> = {
  heic: 'HEIF',
  heix: 'HEIF',
  heim: 'HEIF',
  heis: 'HEIF',
  mif1: 'HEIF',
  msf1: 'HEIF',
  avif: 'AVIF',
  avis: 'AVIF',
};

/**
 * Detects the format from the bytes alone, with at most one read for each ID3 tag and two more (D21). Only the beginning
 * of the container is checked; the decoder finds out whether the rest is valid. Of MP4 the boxes are read up to the one
 * that names the codec, which may be at its end (D47).
 */
export async function detectFormat(head: FileWindow): Promise<AudioFormat | null> {
  await head.moveTo(0);
  const magic = head.latin1(0, 4);
  if (magic === '\x1aE\xdf\xa3') return ebmlDocType(head) === 'webm' ? 'webm' : null;
  // RFC 3533 §6: the only version of the page header is 0.
  if (magic === 'OggS') return head.size > 4 && head.u8(4) === 0 ? 'ogg' : null;
  // RF64 (EBU Tech 3306) is WAVE with 64-bit sizes, which recorders also write for short notes.
  if (magic === 'RIFF' || magic === 'RF64') return head.latin1(8, 4) === 'WAVE' ? 'wav' : null;
  if (magic === '#!AM') return isAmr(head) ? 'amr' : null;
  if (beginsMp4(head.latin1(0, MP4_MAGIC_BYTES))) return await detectMp4(head);
  return await detectFrames(head);
}

const isAmr = (head: FileWindow): boolean =>
  head.latin1(0, AMR_NARROWBAND.length) === AMR_NARROWBAND || head.latin1(0, AMR_WIDEBAND.length) === AMR_WIDEBAND;

/** RFC 8794 §11.2.4: without a DocType element it is `matroska`, which is not accepted. */
function ebmlDocType(head: FileWindow): string | null {
  const header = readEbmlElement(head, 0);
  if (!header || header.size === null) return null;
  const end = Math.min(header.data + header.size, HEAD_BYTES - EBML_HEADER_BYTES);
  for (let position = header.data; position < end;) {
    const element = readEbmlElement(head, position);
    if (!element || element.size === null) return null;
    // A string may be padded with NULs (§7.4).
    if (element.id === 0x4282) return head.latin1(element.data, Math.min(element.size, 64)).replace(/(?<!\0)\0+$/, '');
    position = element.data + element.size;
  }
  return null;
}

/** What stands at the start, or after ID3v2 tags and the zeros with which some taggers pad them. */
async function detectFrames(head: FileWindow): Promise<AudioFormat | null> {
  let position = await skipId3Tags(head);
  if (position > 0) {
    const limit = Math.min(head.size, position + HEAD_BYTES);
    while (position < limit && head.u8(position) === 0) position++;
  }
  if (head.latin1(position, 4) === 'fLaC') return 'flac';
  if (position + 4 <= head.size && readMpegFrame(head, position)) return 'mp3';
  if (!head.holds(position, ADTS.lookAhead)) await head.moveTo(position);
  const frame = ADTS.read(head, position);
  return frame && isFollowed(head, position, frame, ADTS) ? 'aac' : null;
}

/** MP4, 3GP or QuickTime. */
async function detectMp4(file: FileWindow): Promise<AudioFormat | null> {
  if (imageOf(file.latin1(0, 12))) return null;
  const codec = await mp4Codec(file);
  return codec === 'amr_nb' || codec === 'amr_wb' ? 'amr' : 'm4a';
}

/** HEIF or AVIF, by the first 12 bytes of a file. */
const imageOf = (head: string): string | undefined =>
  head.startsWith('ftyp', 4) ? IMAGE_BRANDS[head.slice(8, 12)] : undefined;

/** First bytes of formats that people upload by mistake. */
const SIGNATURES: readonly { bytes: string; name: string }[] = [
  { bytes: 'caff', name: 'CAF' },
  { bytes: 'FORM', name: 'AIFF' },
  { bytes: '\x30\x26\xb2\x75', name: 'WMA' },
  { bytes: '\x1aE\xdf\xa3', name: 'Matroska' },
  { bytes: '\x89PNG', name: 'PNG' },
  { bytes: '\xff\xd8\xff', name: 'JPEG' },
  { bytes: 'GIF8', name: 'GIF' },
  { bytes: '%PDF', name: 'PDF' },
  { bytes: 'PK\x03\x04', name: 'ZIP' },
  { bytes: '\x1f\x8b', name: 'gzip' },
  { bytes: '\x7fELF', name: 'a program' },
  { bytes: 'MZ', name: 'a program' },
];

const SAMPLE_BYTES = 512;

/**
 * Why a file is refused: what is accepted, and what the file looks like instead, where that can be told.
 * @param format of the file, if it is one that the operator does not accept
 */
export async function unsupportedFormat(
  file: FileWindow,
  accepted: readonly AudioFormat[],
  format: AudioFormat | null,
): Promise<string> {
  const rule = `must be audio in ${anyOf(accepted)}`;
  if (format !== null) return `${rule}; this is ${format}`;
  await file.moveTo(0);
  const head = file.latin1(0, Math.min(SAMPLE_BYTES, file.size));
  const known = SIGNATURES.find(({ bytes }) => head.startsWith(bytes))?.name ?? imageOf(head);
  const name = known ?? (isText(head) ? 'text' : null);
  return name === null ? rule : `${rule}; this looks like ${name}`;
}

/** ASCII, or bytes of UTF-8 and Latin-1 above it; no control characters but white space. */
const isText = (head: string): boolean => /^[\t\n\r\x20-\x7e\x80-\xff]+$/.test(head) && /[\x20-\x7e]{4}/.test(head);

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
