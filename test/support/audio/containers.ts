/** Ogg and WebM, put together packet by packet: right where a test needs sound, wrong where it says so. */

const OGG_CONTINUED = 1;
const OGG_BEGIN = 2;
const OGG_END = 4;
const SEGMENTS = 255;

interface OggPlace {
  serial?: number;
  sequence?: number;
  granule?: bigint;
  flags?: number;
}

/** One page (RFC 3533 §6), with its checksum. Every packet in it is whole. */
export function oggPage(packets: Buffer[], place: OggPlace = {}): Buffer {
  const lacing = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255]);
  return oggPageOf(lacing, Buffer.concat(packets), place);
}

function oggPageOf(
  lacing: number[],
  body: Buffer,
  { serial = 1, sequence = 0, granule = 0n, flags = 0 }: OggPlace,
): Buffer {
  const header = Buffer.alloc(27);
  header.write('OggS', 0, 'latin1');
  header[5] = flags;
  header.writeBigInt64LE(granule, 6);
  header.writeUInt32LE(serial, 14);
  header.writeUInt32LE(sequence, 18);
  header[26] = lacing.length;
  const page = Buffer.concat([header, Buffer.from(lacing), body]);
  page.writeUInt32LE(oggChecksum(page), 22);
  return page;
}

/** Samples at 48 kHz of one packet of silence: six frames of 20 ms, none of them sent. */
const SILENT_PACKET = Buffer.from('fb06', 'hex');
const SILENT_SAMPLES = 5760n;

export function opusHead({ channels = 1, preSkip = 0, gain = 0, family = 0 } = {}): Buffer {
  const head = Buffer.from('OpusHead\x01\0\0\0\x80\xbb\0\0\0\0\0', 'latin1');
  head[9] = channels;
  head.writeUInt16LE(preSkip, 10);
  head.writeInt16LE(gain, 16);
  head[18] = family;
  return family === 0
    ? head
    : Buffer.concat([head, Buffer.from([channels, 0, ...Array.from({ length: channels }, (_, i) => i)])]);
}

/** @param comments `NAME=value`, a million of them in a moment. */
export function opusTags(comments: string[] = []): Buffer {
  const vendor = 'test';
  const length = comments.reduce((sum, text) => sum + 4 + Buffer.byteLength(text), 16 + vendor.length);
  const bytes = Buffer.alloc(length);
  let at = bytes.write('OpusTags');
  at = bytes.writeUInt32LE(vendor.length, at);
  at += bytes.write(vendor, at);
  at = bytes.writeUInt32LE(comments.length, at);
  for (const text of comments) {
    const size = bytes.write(text, at + 4);
    bytes.writeUInt32LE(size, at);
    at += 4 + size;
  }
  return bytes;
}

/** @param packets of 20 ms each, when they are not of silence */
export function oggOpus(
  packets: Buffer[],
  { serial = 1, head = opusHead(), tags = opusTags(), packetsPerPage = SEGMENTS } = {},
): Buffer {
  const pages = [oggPage([head], { serial, flags: OGG_BEGIN }), ...pagesOf(tags, serial)];
  let granule = 0n;
  let page: Buffer[] = [];
  let segments = 0;
  const turn = (flags: number): void => {
    pages.push(oggPage(page, { serial, sequence: pages.length, granule, flags }));
    page = [];
    segments = 0;
  };
  for (const packet of packets) {
    const needed = Math.floor(packet.length / 255) + 1;
    if (segments + needed > SEGMENTS || page.length >= packetsPerPage) turn(0);
    page.push(packet);
    segments += needed;
    granule += packet.equals(SILENT_PACKET) ? SILENT_SAMPLES : 960n;
  }
  turn(OGG_END);
  return Buffer.concat(pages);
}

/** Silence, 120 ms in 3 bytes: an hour takes 0.1 MB. */
export const silentOgg = (seconds: number): Buffer =>
  oggOpus(Array.from({ length: Math.ceil(seconds / 0.12) }, () => SILENT_PACKET));

/** A stream that begins like the video codec Theora, and a skeleton, and no audio. */
export function oggWithoutAudio(): Buffer {
  const theora = Buffer.concat([Buffer.from('\x80theora\x03\x02\x01', 'latin1'), Buffer.alloc(32)]);
  const skeleton = Buffer.concat([Buffer.from('fishead\0\x03\0\0\0', 'latin1'), Buffer.alloc(52)]);
  return Buffer.concat([
    oggPage([theora], { serial: 1, flags: OGG_BEGIN }),
    oggPage([skeleton], { serial: 2, flags: OGG_BEGIN }),
    oggPage([Buffer.alloc(100)], { serial: 1, sequence: 1, granule: 100n }),
    oggPage([Buffer.alloc(0)], { serial: 2, sequence: 1, flags: OGG_END }),
  ]);
}

/** The packets of an Ogg file that holds one stream. */
export function packetsOf(ogg: Buffer): Buffer[] {
  const packets: Buffer[] = [];
  let open: Buffer[] = [];
  for (let at = 0; at < ogg.length;) {
    const segments = ogg[at + 26] ?? 0;
    let body = at + 27 + segments;
    for (let i = 0; i < segments; i++) {
      const length = ogg[at + 27 + i] ?? 0;
      open.push(ogg.subarray(body, body + length));
      body += length;
      if (length < 255) {
        packets.push(Buffer.concat(open));
        open = [];
      }
    }
    at = body;
  }
  return packets;
}

/** An EBML element; sizes take eight bytes. */
function ebml(id: string, ...data: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(data.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'hex') : piece)));
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(body.length));
  size[0] = 1;
  return Buffer.concat([Buffer.from(id, 'hex'), size, body]);
}

export interface WebmTrack {
  kind: 'audio' | 'video';
  codec: string;
  codecPrivate?: Buffer;
  /** Of 20 ms each. */
  packets: Buffer[];
}

/** The tracks' packets side by side, in clusters of a second. @param more elements before the first cluster */
export function webmOf(tracks: WebmTrack[], more: Buffer = Buffer.alloc(0)): Buffer {
  const entries = tracks.map(({ kind, codec, codecPrivate }, i) => {
    const details =
      kind === 'audio'
        ? ebml('e1', ebml('b5', '473b8000'), ebml('9f', '01'))
        : ebml('e0', ebml('b0', '10'), ebml('ba', '10'));
    const setUp = codecPrivate ? [ebml('63a2', codecPrivate)] : [];
    const type = kind === 'audio' ? '02' : '01';
    return ebml(
      'ae',
      ebml('d7', hexByte(i + 1)),
      ebml('73c5', hexByte(i + 1)),
      ebml('83', type),
      ebml('86', Buffer.from(codec)),
      ...setUp,
      details,
    );
  });
  const ticks = Math.max(...tracks.map(({ packets }) => packets.length));
  const clusters: Buffer[] = [];
  for (let from = 0; from < ticks; from += 50) {
    const time = Buffer.alloc(4);
    time.writeUInt32BE(from * 20);
    const blocks: Buffer[] = [ebml('e7', time)];
    for (let tick = from; tick < Math.min(from + 50, ticks); tick++) {
      for (const [i, { packets }] of tracks.entries()) {
        const packet = packets[tick];
        const header = Buffer.from([0x80 + i + 1, 0, 0, 0x80]);
        header.writeInt16BE((tick - from) * 20, 1);
        if (packet) blocks.push(ebml('a3', header, packet));
      }
    }
    clusters.push(ebml('1f43b675', ...blocks));
  }
  const head = ebml('1a45dfa3', ebml('4282', Buffer.from('webm')));
  return Buffer.concat([
    head,
    ebml('18538067', ebml('1549a966', ebml('2ad7b1', '0f4240')), ebml('1654ae6b', ...entries), more, ...clusters),
  ]);
}

/** A packet of any length, on as many pages as it takes. */
function pagesOf(packet: Buffer, serial: number): Buffer[] {
  const pages: Buffer[] = [];
  const full = SEGMENTS * 255;
  const turn = (lacing: number[], body: Buffer, granule: bigint): void => {
    const flags = pages.length > 0 ? OGG_CONTINUED : 0;
    pages.push(oggPageOf(lacing, body, { serial, sequence: pages.length + 1, granule, flags }));
  };
  let at = 0;
  for (; packet.length - at >= full; at += full)
    turn(Array<number>(SEGMENTS).fill(255), packet.subarray(at, at + full), -1n);
  const rest = packet.subarray(at);
  turn([...Array<number>(Math.floor(rest.length / 255)).fill(255), rest.length % 255], rest, 0n);
  return pages;
}

/** Bytes as they come from the polynomial 0x04c11db7, neither reflected nor inverted. */
const CHECKSUM_TABLE = Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit++) value = value < 0 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value;
});

function oggChecksum(page: Buffer): number {
  let sum = 0;
  for (const byte of page) sum = (sum << 8) ^ (CHECKSUM_TABLE[((sum >>> 24) ^ byte) & 0xff] as number);
  return sum >>> 0;
}

const hexByte = (value: number): string => value.toString(16).padStart(2, '0');
