/**
 * Audio, and what only pretends to be, built in code: the files of the bad-input tests. All numbers in bytes, Hz and
 * seconds; the same arguments always give the same bytes.
 */

/** Of AAC and AMR every beginning is as good as any other part. */
export type PretendedFormat = 'webm' | 'mp3' | 'ogg' | 'wav' | 'm4a' | 'flac';

/** Any claim may be made, true or not; what is left out is true. */
export interface WavClaims {
  /** 1: PCM. */
  formatTag?: number;
  sampleRate?: number;
  channels?: number;
  bitsPerSample?: number;
  /** What the `data` chunk says its length is. */
  dataLength?: number;
  /** The samples. */
  data?: Buffer;
}

/** A WAV file with a 44-byte header, of 16 kHz mono 16-bit PCM unless told otherwise. */
export function wav(claims: WavClaims = {}): Buffer {
  const { sampleRate = 16_000, channels = 1, bitsPerSample = 16, data = Buffer.alloc(0) } = claims;
  const dataLength = claims.dataLength ?? data.length;
  const blockAlign = (channels * bitsPerSample) / 8;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(Math.min(36 + dataLength, 0xffffffff), 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(claims.formatTag ?? 1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE((sampleRate * blockAlign) % 2 ** 32, 28);
  header.writeUInt16LE(blockAlign % 2 ** 16, 32);
  header.writeUInt16LE(bitsPerSample, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataLength, 40);
  return Buffer.concat([header, data]);
}

/** Two recordings of 16 kHz mono, 16-bit, as the channels of one. @param after seconds at which the second begins */
export function twoChannels(left: Buffer, right: Buffer, after: number, seconds: number): Buffer {
  const data = Buffer.alloc(seconds * 64_000);
  [left, right].forEach((note, channel) => {
    const samples = note.subarray(44);
    const from = channel === 0 ? 0 : after * 64_000;
    for (let i = 0; i + 1 < samples.length; i += 2) samples.copy(data, from + i * 2 + channel * 2, i, i + 2);
  });
  return wav({ channels: 2, data });
}

/** Silence that decodes without complaint. */
export function silenceWav(seconds: number, sampleRate = 16_000): Buffer {
  return wav({ sampleRate, data: Buffer.alloc(Math.round(seconds * sampleRate) * 2) });
}

/** A WAV file of exactly so many bytes, header included; the smallest is 44. */
export function wavOfBytes(bytes: number): Buffer {
  return wav({ data: Buffer.alloc(bytes - 44) });
}

/** WAV headers that no decoder should be trusted with: half a second of samples behind a claim that cannot be. */
export const absurdWavs: Record<string, () => Buffer> = {
  'a rate of 0 Hz': () => wav({ sampleRate: 0, data: Buffer.alloc(16_000) }),
  'a rate of 1 Hz': () => wav({ sampleRate: 1, data: Buffer.alloc(16_000) }),
  'a rate of 4 GHz': () => wav({ sampleRate: 4_000_000_000, data: Buffer.alloc(16_000) }),
  'no channels': () => wav({ channels: 0, data: Buffer.alloc(16_000) }),
  '65,535 channels': () => wav({ channels: 65_535, data: Buffer.alloc(16_000) }),
};

/** What a recorder leaves that writes into a pipe and is killed: a length of 0xFFFFFFFF, and here 100 bytes. */
export function pipedWav(): Buffer {
  return wav({ dataLength: 0xffffffff, data: Buffer.alloc(100) });
}

/** A WAV file without a single sample. */
export function emptyWav(): Buffer {
  return wav();
}

/** The beginning by which each format is recognised. */
export const MAGIC: Record<PretendedFormat, Buffer> = {
  // An EBML header with the DocType `webm`, then a segment of unknown size.
  webm: hex('1a45dfa3 87 4282 84 7765626d 18538067 01ffffffffffffff'),
  // MPEG-1 layer III, 128 kbit/s, 44.1 kHz, stereo.
  mp3: hex('fffb9000'),
  // A page that begins a stream, with one packet of 19 bytes.
  ogg: hex('4f676753 00 02 0000000000000000 01000000 00000000 00000000 01 13'),
  wav: Buffer.from('RIFF\x24\x10\x00\x00WAVEfmt ', 'latin1'),
  m4a: hex('00000020667479704d344120000000004d3441206d70343269736f6d00000000'),
  flac: hex('664c6143 00 000022 1000 1000 000000 000000 0ac442f000000000'),
};

/** A right beginning, then random bytes: recognised and accepted, but nothing that can be decoded. */
export function garbage(format: PretendedFormat, seed: number, bytes = 4096): Buffer {
  return Buffer.concat([MAGIC[format], randomBytes(seed, bytes)]);
}

/** An MP3 that begins with an empty ID3v2.4 tag of so many bytes, as one with a huge picture does; then `audio`. */
export function mp3WithTag(tagBytes: number, audio: Buffer = silentMp3(1)): Buffer {
  const tag = Buffer.alloc(tagBytes);
  tag.write('ID3\x04', 0, 'latin1');
  // 28 bits in four bytes of seven; the header's own ten bytes do not count.
  for (const [i, shift] of [21, 14, 7, 0].entries()) tag[6 + i] = ((tagBytes - 10) >> shift) & 0x7f;
  return Buffer.concat([tag, audio]);
}

/** Frames of MPEG-1 layer III at 128 kbit/s and 44.1 kHz whose side information says that there is nothing to play. */
export function silentMp3(seconds: number): Buffer {
  const frame = Buffer.alloc(417);
  frame.writeUInt32BE(0xfffb90c4);
  return Buffer.concat(Array.from({ length: Math.ceil((seconds * 44_100) / 1152) }, () => frame));
}

/**
 * Silence in WebM, laid out as a browser records it, without a duration. A packet of 8 bytes holds 120 ms, the most
 * that Opus allows: an hour takes 0.24 MB.
 * @param startMs time of the first block: that of a part of a longer recording is not 0.
 */
export function silentWebm(seconds: number, startMs = 0): Buffer {
  const parts = [webmHead(OPUS_TRACK)];
  for (let ms = 0; ms < seconds * 1000; ms += BLOCKS_IN_CLUSTER * 120) {
    const blocks = Math.min(BLOCKS_IN_CLUSTER, Math.ceil((seconds * 1000 - ms) / 120));
    parts.push(hex(`1f43b675 01ffffffffffffff e7 84 ${hexOf(startMs + ms, 4)}`), SILENT_BLOCKS.subarray(0, blocks * 8));
  }
  return Buffer.concat(parts);
}

const BLOCKS_IN_CLUSTER = 250;
/** Of a cluster of 30 s. CELT, full band, mono, six frames of 20 ms, none of them sent. */
const SILENT_BLOCKS = Buffer.concat(
  Array.from({ length: BLOCKS_IN_CLUSTER }, (_, block) => hex(`a3 86 81 ${hexOf(block * 120, 2)} 80 fb 06`)),
);

/** WebM with a video track of one empty frame, and no audio. */
export function webmWithoutAudio(): Buffer {
  const track = hex('ae 93 d7 81 01 83 81 01 86 85 565f565038 e0 84 b0 81 10 ba 81 10');
  return Buffer.concat([webmHead(track), hex('1f43b675 01ffffffffffffff e7 81 00 a3 85 81 0000 80 00')]);
}

/** Files of other kinds, as they may come under the name of a recording. None is to be accepted. */
export const notAudio: Record<string, () => Buffer> = {
  text: () => Buffer.from('Dear transcription service,\nplease find my voice note attached.\n'),
  PNG: () => hex('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489'),
  JPEG: () => hex('ffd8ffe000104a46494600010100000100010000'),
  PDF: () => Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n', 'latin1'),
  ELF: () => Buffer.concat([hex('7f454c4602010100'), Buffer.alloc(56)]),
  HTML: () => Buffer.from('<!doctype html><html><script>alert(1)</script></html>'),
  ZIP: () => hex('504b0304140000000800000021000000000000000000000000000500000061'),
  HEIF: () => hex('0000001866747970686569630000000068656963 6d696631'),
  AVIF: () => hex('0000001866747970617669660000000061766966 6d696631'),
  'one frame that begins like AAC': () => Buffer.concat([adtsFrames(1), randomBytes(1, 200)]),
  'AMR of several channels': () => Buffer.from('#!AMR_MC1.0\n\0\0\0\x02', 'latin1'),
  'MPEG layer II': () => Buffer.concat([hex('fffd9000'), Buffer.alloc(500)]),
  AVI: () => Buffer.from('RIFF\x00\x10\x00\x00AVI LIST', 'latin1'),
  Matroska: () => hex('1a45dfa3 8b 4282 88 6d6174726f736b61 18538067 01ffffffffffffff'),
  'an m3u playlist': () => Buffer.from('#EXTM3U\n#EXTINF:-1,secrets\nfile:///etc/passwd\n'),
  'an ffconcat script': () => Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n"),
  'an SDP description': () => Buffer.from('v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\nm=audio 5004 RTP/AVP 0\r\n'),
};

/** A file handle over bytes in memory, as far as the probes need one; it counts what is read. */
export function inMemory(bytes: Buffer) {
  return {
    bytesRead: 0,
    async read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }> {
      const bytesRead = position < bytes.length ? bytes.copy(buffer, offset, position, position + length) : 0;
      this.bytesRead += bytesRead;
      return { bytesRead };
    },
  };
}

/** A track of mono Opus: number 1, CodecID, an OpusHead without pre-skip as CodecPrivate, 48 kHz. */
const OPUS_TRACK = hex(
  'ae ac d7 81 01 83 81 02 86 86 415f4f505553 63a2 93 4f70757348656164 01 01 0000 80bb0000 0000 00 e1 87 b5 84 473b8000',
);

/** EBML header, segment of unknown size, Info with a tick of 1 ms, Tracks. */
function webmHead(track: Buffer): Buffer {
  const info = hex('1549a966 87 2ad7b1 83 0f4240');
  return Buffer.concat([MAGIC.webm, info, hex(`1654ae6b ${hexOf(0x80 + track.length, 1)}`), track]);
}

/** Frames of AAC in ADTS: mono, 16 kHz, 64 ms in 32 bytes each. */
export function adtsFrames(count: number): Buffer {
  const frame = Buffer.concat([hex('fff1 60 40 04 1ffc'), Buffer.alloc(25)]);
  return Buffer.concat(Array.from({ length: count }, () => frame));
}

/** @param type the byte that begins each frame. @param length of a frame */
export function amrFrames(magic: string, type: number, length: number, count: number): Buffer {
  const frame = Buffer.concat([Buffer.from([type]), Buffer.alloc(length - 1)]);
  return Buffer.concat([Buffer.from(magic), ...Array.from({ length: count }, () => frame)]);
}

/**
 * FLAC of mono, 16 kHz and 16 bits, in blocks of 256 ms of silence. Its header states no length.
 * @param options `vary`: whether the frames count samples. `first`: the number of the first frame
 */
export function flacFrames(count: number, { vary = false, first = 0 } = {}): Buffer {
  const info = hex('664c6143 80000022 1000 1000 000000 000000 03e800f0 00000000 00000000000000000000000000000000');
  const frames = Array.from({ length: count }, (_, index) => {
    const number = utf8Number((first + index) * (vary ? 4096 : 1));
    // 4096 samples, 16 kHz, mono, 16 bits; then a constant subframe.
    const header = Buffer.concat([hex(vary ? 'fff9 c5 08' : 'fff8 c5 08'), number]);
    return Buffer.concat([header, Buffer.from([crc8(header)]), hex('00 0000 0000'), Buffer.alloc(20)]);
  });
  return Buffer.concat([info, ...frames]);
}

/** As UTF-8 writes a code point, up to 36 bits. */
function utf8Number(value: number): Buffer {
  if (value < 0x80) return Buffer.from([value]);
  let length = 2;
  while (value >= 2 ** (5 * length + 1)) length++;
  const bytes = Buffer.alloc(length);
  let rest = value;
  for (let i = length - 1; i > 0; i--) {
    bytes[i] = 0x80 | (rest % 64);
    rest = Math.floor(rest / 64);
  }
  bytes[0] = ((0xff << (8 - length)) & 0xff) | rest;
  return bytes;
}

function crc8(bytes: Buffer): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x80 ? ((sum << 1) ^ 7) & 0xff : sum << 1;
  }
  return sum;
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

function hexOf(value: number, bytes: number): string {
  return value.toString(16).padStart(bytes * 2, '0');
}

/** Marsaglia's xorshift, 32 bits: reproducible, not secret. */
export function randomBytes(seed: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = Math.imul(seed, 0x9e3779b1) | 1;
  for (let i = 0; i < length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[i] = state >>> 24;
  }
  return bytes;
}
