import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from './file-window.js';
import { OPUS_RATE, opusPacketSamples } from './opus-packet.js';

const CAPTURE_PATTERN = Buffer.from('OggS');

/** In packets: two hours of the shortest packets, 2.5 ms, are 2.9 million. */
const MAX_WORK = 5_000_000;

/** Reading a page's header, or searching for the next page, costs about as much as this many packets. */
const PAGE_WORK = 8;
const SEEK_WORK = 20;

/** Reads every complete page; the decoder checks the checksums. */
export async function probeOgg(window: FileWindow): Promise<AudioFacts> {
  const reading = new OggReading(window);
  let position = 0;
  for (let work = 0; position < window.size && work < MAX_WORK;) {
    if (!window.holds(position, OGG_PAGE_HEADER_BYTES)) await window.moveTo(position);
    const page = readOggPage(window, position);
    if (page && page.end <= window.size) {
      if (!window.holds(position, page.end - position)) await window.moveTo(position);
      reading.take(page);
      work += PAGE_WORK + page.segments;
      position = page.end;
    } else {
      work += SEEK_WORK;
      position = await window.seek(CAPTURE_PATTERN, position + 1);
    }
  }
  return reading.facts();
}

/** The first audio stream, and those chained behind it (RFC 3533 §4), which play one after the other. */
class OggReading {
  private first: OggStream | null = null;
  private current: OggStream | null = null;
  private linkHasBegun = false;
  private finishedSeconds = 0;
  private finishedBytes = 0;

  constructor(private readonly window: FileWindow) {}

  take(page: OggPage): void {
    if (!page.beginsStream) this.linkHasBegun = true;
    // Multiplexed streams all begin before the first of them continues: only one of them is decoded.
    else if (!this.current || this.linkHasBegun) this.begin(page);
    if (this.current?.serial === page.serial) this.current.take(page);
  }

  facts(): AudioFacts {
    if (!this.first) return NOTHING_KNOWN;
    const { codec, sampleRate, channels } = this.first.header;
    this.finish();
    const bitRate = (this.finishedBytes * 8) / this.finishedSeconds;
    return { durationSeconds: this.finishedSeconds, sampleRate, channels, bitRate, codec };
  }

  private begin(page: OggPage): void {
    const stream = OggStream.begin(this.window, page);
    if (!stream) return;
    this.finish();
    this.first ??= stream;
    this.current = stream;
    this.linkHasBegun = false;
  }

  private finish(): void {
    this.finishedSeconds += this.current?.seconds ?? 0;
    this.finishedBytes += this.current?.bytes ?? 0;
  }
}

/** Properties of a logical stream, from its first packet. */
interface StreamHeader {
  codec: 'opus' | 'vorbis' | 'speex' | 'flac';
  sampleRate: number;
  channels: number;
  /** Samples at the start that are decoded and dropped. */
  preSkip: number;
  headerPackets: number;
  /** Maximum number of samples in a packet; an Opus packet states its own. */
  maxPacketSamples: number;
}

/** One logical stream of audio. Its pages must be in view when they are added. */
class OggStream {
  /** Bytes of the packets, headers included. */
  bytes = 0;
  private packets = 0;
  /** Samples that the packets so far can hold: exact for Opus, an upper bound for others. */
  private capacity = 0;
  private firstSample: number | null = null;
  private lastGranule = 0;

  private constructor(
    private readonly window: FileWindow,
    readonly serial: number,
    readonly header: StreamHeader,
  ) {}

  /** The stream that begins with `page`; null when it is not audio. */
  static begin(window: FileWindow, page: OggPage): OggStream | null {
    const header = readStreamHeader(window, page.body);
    return header && new OggStream(window, page.serial, header);
  }

  take(page: OggPage): void {
    this.bytes += page.end - page.body;
    let position = page.body;
    let begins = !page.continuesPacket;
    for (let i = 0; i < page.segments; i++) {
      const length = this.window.u8(page.lacing + i);
      if (begins) this.takePacket(position, length);
      // RFC 3533 §5: after 255 the packet continues in the next segment.
      begins = length < 255;
      position += length;
    }
    if (page.granule === null || this.packets <= this.header.headerPackets) return;
    // A stream that was cut out of a longer one does not begin at 0 (RFC 7845 §4.5).
    this.firstSample ??= Math.max(0, page.granule - this.capacity);
    this.lastGranule = page.granule;
  }

  /** From the last granule position, which knows where the last packet was cut; at most what the packets can hold. */
  get seconds(): number {
    const samples = Math.min(this.lastGranule - (this.firstSample ?? 0), this.capacity) - this.header.preSkip;
    return Math.max(0, samples / this.header.sampleRate);
  }

  private takePacket(position: number, length: number): void {
    const { codec, headerPackets, maxPacketSamples } = this.header;
    if (this.packets++ < headerPackets) return;
    this.capacity +=
      codec === 'opus'
        ? opusPacketSamples(length, this.window.u8(position), this.window.u8(position + 1))
        : maxPacketSamples;
  }
}

function readStreamHeader(window: FileWindow, at: number): StreamHeader | null {
  const magic = window.latin1(at, 8);
  if (magic === 'OpusHead') {
    // RFC 7845 §5.1.
    const channels = window.u8(at + 9);
    const preSkip = window.u16le(at + 10);
    return { codec: 'opus', sampleRate: OPUS_RATE, channels, preSkip, headerPackets: 2, maxPacketSamples: 0 };
  }
  if (magic.startsWith('\x01vorbis')) {
    // Vorbis I §4.2.2. A packet yields at most two overlapping halves of the longest block.
    const maxPacketSamples = 2 ** (window.u8(at + 28) >> 4) / 2;
    const sampleRate = window.u32le(at + 12);
    return {
      codec: 'vorbis',
      sampleRate,
      channels: window.u8(at + 11),
      preSkip: 0,
      headerPackets: 3,
      maxPacketSamples,
    };
  }
  if (magic === 'Speex   ') {
    // The Speex Codec Manual, table 7.1: frame size times frames per packet.
    const maxPacketSamples = window.u32le(at + 56) * window.u32le(at + 64) || Infinity;
    const sampleRate = window.u32le(at + 36);
    return { codec: 'speex', sampleRate, channels: window.u8(at + 48), preSkip: 0, headerPackets: 2, maxPacketSamples };
  }
  if (magic.startsWith('\x7fFLAC')) {
    // https://xiph.org/flac/ogg_mapping.html: 9 bytes, "fLaC", a 4-byte block header, STREAMINFO.
    const streamInfo = at + 17;
    const rateAndChannels = window.uintBe(streamInfo + 10, 3);
    return {
      codec: 'flac',
      sampleRate: rateAndChannels >> 4,
      channels: ((rateAndChannels >> 1) & 7) + 1,
      preSkip: 0,
      headerPackets: 1 + window.uintBe(at + 7, 2),
      maxPacketSamples: window.uintBe(streamInfo + 2, 2),
    };
  }
  return null;
}

/** The longest header of a page: 27 bytes and 255 lacing values. */
const OGG_PAGE_HEADER_BYTES = 27 + 255;

/** A page (RFC 3533 §6); `lacing`, `body` and `end` are positions in the file, `end` that of the next page. */
interface OggPage {
  continuesPacket: boolean;
  beginsStream: boolean;
  /** Number of the last sample that ends in this page; null when no packet ends in it. */
  granule: number | null;
  serial: number;
  segments: number;
  lacing: number;
  body: number;
  end: number;
}

/** Null when no page begins at `position`. */
function readOggPage(window: FileWindow, position: number): OggPage | null {
  // "OggS" and version 0, the only one.
  if (window.u32be(position) !== 0x4f676753 || window.u8(position + 4) !== 0) return null;
  const flags = window.u8(position + 5);
  const granuleHigh = window.u32le(position + 10);
  const segments = window.u8(position + 26);
  const lacing = position + 27;
  let end = lacing + segments;
  for (let i = 0; i < segments; i++) end += window.u8(lacing + i);
  return {
    continuesPacket: (flags & 1) !== 0,
    beginsStream: (flags & 2) !== 0,
    // 64 bits, signed; -1 means none, and other negative numbers have no meaning.
    granule: granuleHigh >= 0x80000000 ? null : granuleHigh * 2 ** 32 + window.u32le(position + 6),
    serial: window.u32le(position + 14),
    segments,
    lacing,
    body: lacing + segments,
    end,
  };
}
