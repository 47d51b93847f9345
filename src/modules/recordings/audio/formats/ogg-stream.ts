import type { FileWindow } from './file-window.js';
import type { OggPage } from './ogg-page.js';
import { OPUS_RATE, opusPacketSamples } from './opus-packet.js';

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
export class OggStream {
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
