import { AAC_CHANNELS, AAC_SAMPLE_RATES } from '../formats/adts-frame.js';
import type { FileWindow } from '../formats/file-window.js';

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
export function readAudioConfig(window: FileWindow, data: number, end: number): AudioConfig | null {
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
