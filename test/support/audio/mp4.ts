/** MP4, put together box by box: right unless a test says otherwise. The samples are of zeros. */

export function box(type: string, ...content: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(
    content.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)),
  );
  return Buffer.concat([u32(8 + body.length), Buffer.from(type, 'latin1'), body]);
}

/** A box with a size of 64 bits, true or not. */
export function longBox(type: string, body: Buffer, size = BigInt(16 + body.length)): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(size);
  return Buffer.concat([u32(1), Buffer.from(type, 'latin1'), length, body]);
}

/** With version 0 and flags. */
export const fullBox = (type: string, flags: number, ...content: Buffer[]): Buffer => box(type, u32(flags), ...content);

export const u32 = (...values: number[]): Buffer => u32List(values);

function u32List(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => bytes.writeUInt32BE(value >>> 0, i * 4));
  return bytes;
}

export interface Mp4Claims {
  /** Of the type of the sample entry: `mp4a`, `alac`, `samr`, `sawb` … */
  codec?: string;
  /** Ticks in a second, in the track and in the movie. */
  timescale?: number;
  movieTimescale?: number;
  sampleRate?: number;
  channels?: number;
  /** Bytes of each sample. */
  sizes?: number[];
  /** Ticks of each sample. */
  ticks?: number;
  /** What `stsz` says; by default the truth. */
  count?: number;
  /** Entries of the edit list: duration in ticks of the movie, time in ticks of the track. */
  edits?: [duration: number, time: number][];
  /** Whether the samples come before what describes them. */
  dataFirst?: boolean;
  /** `soun`, unless it is another kind of track. */
  handler?: string;
  /** Boxes in `moov`. */
  more?: Buffer;
}

export const FTYP = box('ftyp', 'M4A ', u32(0x200), 'M4A mp42isom');

/** One track of one chunk. By default a second of AAC at 16 kHz. */
export function mp4(claims: Mp4Claims = {}): Buffer {
  const { sizes = Array<number>(16).fill(20), dataFirst = false } = claims;
  const data = box('mdat', Buffer.alloc(sizes.reduce((sum, size) => sum + size, 0)));
  const moov = box('moov', mvhd(claims), track(claims), claims.more ?? Buffer.alloc(0));
  return Buffer.concat(dataFirst ? [FTYP, data, moov] : [FTYP, moov, data]);
}

/** Fragments of a second each, as a browser records them: there is no length in the header. */
export function fragmentedMp4(seconds: number, claims: Mp4Claims = {}): Buffer {
  const { ticks = 1024, timescale = 16_000, edits } = claims;
  const samples = Math.round(timescale / ticks);
  const trex = fullBox('trex', 0, u32(1, 1, 0, 0, 0));
  const moov = box('moov', mvhd(claims), track({ ...claims, sizes: [], edits }), box('mvex', trex));
  const parts = Array.from({ length: seconds }, (_, index) => {
    const sizes = Array<number>(samples).fill(20);
    const run = fullBox('trun', 0x301, u32(samples, 0), ...sizes.map((size) => u32(ticks, size)));
    const moof = box('moof', fullBox('mfhd', 0, u32(index + 1)), box('traf', fullBox('tfhd', 0x20000, u32(1)), run));
    return Buffer.concat([moof, box('mdat', Buffer.alloc(samples * 20))]);
  });
  return Buffer.concat([FTYP, moov, ...parts]);
}

const mvhd = ({ movieTimescale = 1000 }: Mp4Claims): Buffer =>
  fullBox('mvhd', 0, u32(0, 0, movieTimescale, 0, 0x10000), Buffer.alloc(76), u32(2));

export function track(claims: Mp4Claims = {}): Buffer {
  const { timescale = 16_000, ticks = 1024, sizes = Array<number>(16).fill(20), handler = 'soun', edits = [] } = claims;
  const tkhd = fullBox('tkhd', 7, u32(0, 0, 1, 0, 0), Buffer.alloc(60));
  const elst = fullBox(
    'elst',
    0,
    u32(edits.length),
    u32List(edits.flatMap(([length, time]) => [length, time, 0x10000])),
  );
  const stbl = box(
    'stbl',
    fullBox('stsd', 0, u32(1), sampleEntry(claims)),
    fullBox('stts', 0, sizes.length === 0 ? u32(0) : u32(1, sizes.length, ticks)),
    fullBox('stsc', 0, sizes.length === 0 ? u32(0) : u32(1, 1, sizes.length, 1)),
    fullBox('stsz', 0, u32(0, claims.count ?? sizes.length), u32List(sizes)),
    fullBox('stco', 0, sizes.length === 0 ? u32(0) : u32(1, 0)),
  );
  const mdhd = fullBox('mdhd', 0, u32(0, 0, timescale, 0, 0));
  const hdlr = fullBox('hdlr', 0, u32(0), Buffer.from(handler), Buffer.alloc(13));
  return box(
    'trak',
    tkhd,
    ...(edits.length > 0 ? [box('edts', elst)] : []),
    box('mdia', mdhd, hdlr, box('minf', stbl)),
  );
}

function sampleEntry({ codec = 'mp4a', sampleRate = 16_000, channels = 1 }: Mp4Claims): Buffer {
  const fields = Buffer.alloc(28);
  fields[7] = 1;
  fields.writeUInt16BE(channels, 16);
  fields.writeUInt16BE(16, 18);
  fields.writeUInt16BE(sampleRate % 65_536, 24);
  return box(codec, fields, ...(codec === 'mp4a' ? [esds(sampleRate, channels)] : []));
}

const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000];

/** AAC of low complexity. */
function esds(sampleRate: number, channels: number): Buffer {
  const packed = (2 << 11) | (RATES.indexOf(sampleRate) << 7) | (channels << 3);
  const specific = descriptor(5, Buffer.from([packed >> 8, packed & 255]));
  const decoder = descriptor(4, Buffer.from([0x40, 0x15]), Buffer.alloc(11), specific);
  return fullBox('esds', 0, descriptor(3, Buffer.alloc(3), decoder, descriptor(6, Buffer.from([2]))));
}

function descriptor(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, 0x80, 0x80, 0x80, body.length]), body]);
}
