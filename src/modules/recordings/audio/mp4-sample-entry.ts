import { AAC_CHANNELS, AAC_SAMPLE_RATES } from './aac.probe.js';
import type { FileWindow } from './file-window.js';
import { OPUS_RATE } from './opus-packet.js';

/** What a track holds, from its sample description. */
export interface SampleEntry {
  codec: string | null;
  sampleRate: number;
  channels: number;
}

/** Bytes that are read of the description, which holds the configuration of the codec. */
const MAX_ENTRY_BYTES = 512;
export const SAMPLE_DESCRIPTION_BYTES = 8 + MAX_ENTRY_BYTES;

const CODECS: Record<string, string> = {
  alac: 'alac',
  samr: 'amr_nb',
  sawb: 'amr_wb',
  Opus: 'opus',
  fLaC: 'flac',
  '.mp3': 'mp3',
  'ac-3': 'ac3',
  'ec-3': 'eac3',
  alaw: 'pcm_alaw',
  ulaw: 'pcm_mulaw',
  sowt: 'pcm_s16le',
  twos: 'pcm_s16be',
};

/** The first entry of an `stsd` box (ISO/IEC 14496-12 §12.2.3, QuickTime File Format "Sound Sample Descriptions"). */
export function readSampleEntry(window: FileWindow, data: number, end: number): SampleEntry {
  const entry = data + 8;
  const length = Math.min(window.u32be(entry), end - entry, MAX_ENTRY_BYTES);
  const type = window.latin1(entry + 4, 4);
  const isVersion2 = window.u16be(entry + 16) === 2;
  const stated = {
    codec: CODECS[type] ?? null,
    // 16.16 bits; version 2 of QuickTime has 64 bits of floating point.
    sampleRate: isVersion2 ? window.floatBe(entry + 40, 8) : window.u16be(entry + 32),
    channels: isVersion2 ? window.u32be(entry + 48) : window.u16be(entry + 24),
  };
  // They lie in the entry or deeper in it, in QuickTime's `wave`.
  const nested = (name: string): number => window.latin1(entry + 8, Math.max(0, length - 8)).indexOf(name);
  const at = (name: string): number => entry + 8 + nested(name) + 4;
  if (type === 'alac' && nested('alac') >= 0) return { ...stated, ...alacConfig(window, at('alac')) };
  if (type === 'Opus') return { ...stated, sampleRate: OPUS_RATE };
  if (type === 'samr') return { ...stated, sampleRate: 8000, channels: 1 };
  if (type === 'sawb') return { ...stated, sampleRate: 16_000, channels: 1 };
  if (type !== 'mp4a' || nested('esds') < 0) return stated;
  const config = readAudioConfig(window, at('esds'), entry + length);
  return {
    codec: config?.codec ?? null,
    sampleRate: config?.sampleRate ?? stated.sampleRate,
    channels: config?.channels ?? stated.channels,
  };
}

/** Version and flags, then the magic cookie of Apple's ALAC. */
function alacConfig(window: FileWindow, data: number): Pick<SampleEntry, 'sampleRate' | 'channels'> {
  return { channels: window.u8(data + 4 + 9), sampleRate: window.u32be(data + 4 + 20) };
}

interface AudioConfig {
  codec: string | null;
  /** Null: as the sample description says. */
  sampleRate: number | null;
  channels: number | null;
}

// Tags of descriptors (ISO/IEC 14496-1 §7.2.2.1).
const ELEMENTARY_STREAM = 0x03;
const DECODER_CONFIG = 0x04;
const DECODER_SPECIFIC = 0x05;

const AAC_TYPES = new Set([0x40, 0x66, 0x67, 0x68]);
const MP3_TYPES = new Set([0x69, 0x6b]);

// Audio object types (ISO/IEC 14496-3 §1.5.1.1).
const SPECTRAL_BAND_REPLICATION = 5;
const PARAMETRIC_STEREO = 29;
const ESCAPE = 31;

/** Reads an `esds` box, whose content begins at `data`; null when it is none. */
function readAudioConfig(window: FileWindow, data: number, end: number): AudioConfig | null {
  // Version and flags.
  const stream = readDescriptor(window, data + 4, end);
  if (stream?.tag !== ELEMENTARY_STREAM) return null;
  const flags = window.u8(stream.data + 2);
  const dependsOn = flags & 0x80 ? 2 : 0;
  const url = flags & 0x40 ? 1 + window.u8(stream.data + 3 + dependsOn) : 0;
  const clock = flags & 0x20 ? 2 : 0;
  const decoder = readDescriptor(window, stream.data + 3 + dependsOn + url + clock, end);
  if (decoder?.tag !== DECODER_CONFIG) return null;
  const type = window.u8(decoder.data);
  if (MP3_TYPES.has(type)) return { codec: 'mp3', sampleRate: null, channels: null };
  if (!AAC_TYPES.has(type)) return null;
  const specific = readDescriptor(window, decoder.data + 13, end);
  const isMpeg4 = type === 0x40 && specific?.tag === DECODER_SPECIFIC;
  return { codec: 'aac', ...(isMpeg4 ? readAac(window, specific.data) : { sampleRate: null, channels: null }) };
}

/** Tag, then the length in up to four bytes of seven bits. */
function readDescriptor(window: FileWindow, position: number, end: number): { tag: number; data: number } | null {
  if (position >= end) return null;
  let data = position + 1;
  for (let i = 0; i < 3 && window.u8(data) >= 0x80; i++) data++;
  return { tag: window.u8(position), data: data + 1 };
}

/** An AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1). */
function readAac(window: FileWindow, start: number): Pick<AudioConfig, 'sampleRate' | 'channels'> {
  let at = 0;
  const take = (count: number): number => {
    let value = 0;
    for (let i = 0; i < count; i++, at++) {
      value = value * 2 + ((window.u8(start + (at >> 3)) >> (7 - (at & 7))) & 1);
    }
    return value;
  };
  const takeType = (): number => {
    const type = take(5);
    return type === ESCAPE ? 32 + take(6) : type;
  };
  const takeRate = (): number | null => {
    const index = take(4);
    return index === 15 ? take(24) : (AAC_SAMPLE_RATES[index] ?? null);
  };
  const type = takeType();
  const rate = takeRate();
  const channels = AAC_CHANNELS[take(4)] ?? null;
  const isExtended = type === SPECTRAL_BAND_REPLICATION || type === PARAMETRIC_STEREO;
  return {
    sampleRate: isExtended ? takeRate() : rate,
    channels: type === PARAMETRIC_STEREO && channels === 1 ? 2 : channels,
  };
}
