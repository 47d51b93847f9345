import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from './file-window.js';
import { probeMp3 } from './mp3.probe.js';

// wFormatTag, from Microsoft's mmreg.h.
const PCM = 0x0001;
const ADPCM_MS = 0x0002;
const FLOAT = 0x0003;
const ALAW = 0x0006;
const MULAW = 0x0007;
const ADPCM_IMA = 0x0011;
const EXTENSIBLE = 0xfffe;

const MP3 = 0x0055;

/** Two samples in a byte, without headers. */
const NIBBLE_CODECS = new Map([
  [0x0020, 'adpcm_yamaha'],
  [0x0065, 'adpcm_g722'],
  [0x028f, 'adpcm_g722'],
]);

/** Other codecs in use, measured by the stated bytes per second. */
const OTHER_CODECS = new Map([
  [0x0031, 'gsm_ms'],
  [0x0045, 'adpcm_g726'],
  [0x0050, 'mp2'],
]);

/** Chunks before the audio that are skipped. */
const MAX_CHUNKS = 1000;
const CHUNK_HEADER_BYTES = 8;

/** A WAVEFORMATEXTENSIBLE, up to and with the two bytes of its sub-format that hold a wFormatTag. */
const FORMAT_BYTES = 26;

interface WaveFormat {
  tag: number;
  channels: number;
  sampleRate: number;
  bytesPerSecond: number;
  /** Bytes of one sample of every channel, or of one block of a block codec. */
  blockAlign: number;
  bitsPerSample: number;
}

/** Reads the `fmt ` chunk and measures the `data` chunk, whose length counts only up to the end of the file. */
export async function probeWav(window: FileWindow): Promise<AudioFacts> {
  let format: WaveFormat | null = null;
  let position = 12;
  for (let chunks = 0; chunks < MAX_CHUNKS && position + CHUNK_HEADER_BYTES <= window.size; chunks++) {
    if (!window.holds(position, CHUNK_HEADER_BYTES + FORMAT_BYTES)) await window.moveTo(position);
    const id = window.latin1(position, 4);
    const size = window.u32le(position + 4);
    const data = position + CHUNK_HEADER_BYTES;
    if (id === 'fmt ' && size >= 14) format = readFormat(window, data, size);
    if (id === 'data') {
      if (format?.tag === MP3) return probeMp3(window, data);
      return format ? measure(format, audioBytes(size, window.size - data)) : NOTHING_KNOWN;
    }
    // Chunks begin at even positions (Multimedia Programming Interface 1.0, "RIFF file format").
    position = data + size + (size & 1);
  }
  return NOTHING_KNOWN;
}

/** A recorder that writes to a pipe cannot fill in the length later and leaves 0xFFFFFFFF or 0. */
function audioBytes(stated: number, left: number): number {
  return stated === 0 ? left : Math.min(stated, left);
}

function readFormat(window: FileWindow, data: number, size: number): WaveFormat {
  const tag = window.u16le(data);
  return {
    tag: tag === EXTENSIBLE && size >= FORMAT_BYTES ? window.u16le(data + 24) : tag,
    channels: window.u16le(data + 2),
    sampleRate: window.u32le(data + 4),
    bytesPerSecond: window.u32le(data + 8),
    blockAlign: window.u16le(data + 12),
    bitsPerSample: size >= 16 ? window.u16le(data + 14) : 8,
  };
}

function measure(format: WaveFormat, bytes: number): AudioFacts {
  const { channels, sampleRate } = format;
  const samples = sampleCount(format, bytes);
  const durationSeconds = samples === null ? bytes / format.bytesPerSecond : samples / sampleRate;
  return { durationSeconds, sampleRate, channels, bitRate: (bytes * 8) / durationSeconds, codec: codecName(format) };
}

/** Samples per channel in this many bytes; null when only the stated bytes per second are known. */
function sampleCount({ tag, channels, blockAlign, bitsPerSample }: WaveFormat, bytes: number): number | null {
  if (tag === PCM || tag === FLOAT || tag === ALAW || tag === MULAW) {
    // Not blockAlign, which the decoder ignores as well.
    return Math.floor(bytes / (channels * Math.ceil(bitsPerSample / 8)));
  }
  if (NIBBLE_CODECS.has(tag)) return Math.floor((bytes * 2) / channels);
  if (tag !== ADPCM_MS && tag !== ADPCM_IMA) return null;
  // A block is a header per channel, which holds the first samples, then a nibble per sample.
  const [headerBytes, headerSamples] = tag === ADPCM_MS ? [7, 2] : [4, 1];
  const inBlock = (length: number): number =>
    length < headerBytes * channels
      ? 0
      : headerSamples + Math.floor(((length - headerBytes * channels) * 2) / channels);
  return Math.floor(bytes / blockAlign) * inBlock(blockAlign) + inBlock(bytes % blockAlign);
}

function codecName({ tag, bitsPerSample }: WaveFormat): string | null {
  const bits = Math.ceil(bitsPerSample / 8) * 8;
  if (tag === PCM) return bits === 8 ? 'pcm_u8' : [16, 24, 32, 64].includes(bits) ? `pcm_s${bits}le` : null;
  if (tag === FLOAT) return bits === 32 || bits === 64 ? `pcm_f${bits}le` : null;
  if (tag === ALAW) return 'pcm_alaw';
  if (tag === MULAW) return 'pcm_mulaw';
  if (tag === ADPCM_MS) return 'adpcm_ms';
  if (tag === ADPCM_IMA) return 'adpcm_ima_wav';
  return NIBBLE_CODECS.get(tag) ?? OTHER_CODECS.get(tag) ?? null;
}
