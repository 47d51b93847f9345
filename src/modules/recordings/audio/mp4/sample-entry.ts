import type { FileWindow } from '../formats/file-window.js';
import { OPUS_RATE } from '../formats/opus-packet.js';
import { readAudioConfig } from './audio-config.js';

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
