import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from './file-window.js';
import { OPUS_RATE, opusPacketSamples } from './opus-packet.js';

// Element IDs: RFC 9559 §5.1.
const SEGMENT = 0x18538067;
const INFO = 0x1549a966;
const TIMESTAMP_SCALE = 0x2ad7b1;
const TRACKS = 0x1654ae6b;
const TRACK_ENTRY = 0xae;
const TRACK_NUMBER = 0xd7;
const TRACK_TYPE = 0x83;
const CODEC_ID = 0x86;
const CODEC_DELAY = 0x56aa;
const AUDIO = 0xe1;
const SAMPLING_FREQUENCY = 0xb5;
const CHANNELS = 0x9f;
const BIT_DEPTH = 0x6264;
const CLUSTER = 0x1f43b675;
const CLUSTER_TIMESTAMP = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const BLOCK_GROUP = 0xa0;
const BLOCK = 0xa1;
const BLOCK_DURATION = 0x9b;
const DISCARD_PADDING = 0x75a2;

const ENTERED = new Set([SEGMENT, INFO, TRACKS, TRACK_ENTRY, AUDIO, CLUSTER, BLOCK_GROUP]);
const CLUSTER_MARKER = Buffer.from('1f43b675', 'hex');
const AUDIO_TRACK = 2;

/** In elements: two hours of 20 ms packets, each in a block group of three elements, are 1.4 million. */
const MAX_WORK = 1_500_000;

/** Searching for the next cluster costs about as much as this many elements. */
const SEEK_WORK = 5;
const MAX_TRACKS = 64;

/** Read without moving the window: an element's header and the beginning of its data. */
const LOOK_AHEAD = 128;

interface Track {
  number: number;
  type: number;
  codecId: string;
  samplingFrequency: number;
  channels: number;
  bitDepth: number;
  /** Nanoseconds at the start that are decoded and dropped. */
  codecDelay: number;
}

/**
 * Measures the first audio track block by block. The header's Duration is ignored: a browser's live recording
 * has none, and that of a truncated file is wrong.
 *
 * The walk is flat: it enters the elements that lead to blocks and skips all others, so clusters of unknown size, which
 * end where the next begins, need no special case. After invalid bytes it continues at the next cluster.
 */
export async function probeWebm(window: FileWindow): Promise<AudioFacts> {
  const reading = new WebmReading(window);
  let position = 0;
  for (let work = 0; work < MAX_WORK && position < window.size; work++) {
    if (!window.holds(position, LOOK_AHEAD)) await window.moveTo(position);
    const element = readEbmlElement(window, position);
    if (element && ENTERED.has(element.id)) {
      reading.enter(element.id);
      position = element.data;
    } else if (element && element.size !== null && element.data + element.size <= window.size) {
      reading.take(element.id, element.data, element.size);
      position = element.data + element.size;
    } else {
      work += SEEK_WORK;
      position = await window.seek(CLUSTER_MARKER, position + 1);
    }
  }
  return reading.facts();
}

class WebmReading {
  private readonly tracks: Track[] = [];
  private audio: Track | undefined;
  private blocks: WebmBlocks | undefined;
  /** Nanoseconds in a tick of the block times. */
  private timestampScale = 1_000_000;

  constructor(private readonly window: FileWindow) {}

  enter(id: number): void {
    if (id === TRACK_ENTRY && this.tracks.length < MAX_TRACKS) {
      // The defaults of RFC 9559 §5.1.4.1.29.
      const defaults = { samplingFrequency: 8000, channels: 1, bitDepth: 0, codecDelay: 0 };
      this.tracks.push({ number: 0, type: 0, codecId: '', ...defaults });
    }
    if (id === CLUSTER && !this.blocks) {
      this.audio = this.tracks.find((track) => track.type === AUDIO_TRACK);
      if (this.audio) this.blocks = new WebmBlocks(this.window, this.audio.number);
    }
  }

  take(id: number, data: number, size: number): void {
    if (id === SIMPLE_BLOCK || id === BLOCK) return this.blocks?.take(data, size);
    if (size > 64) return;
    if (this.blocks) this.takeInCluster(this.blocks, id, data, size);
    else this.takeInHeader(id, data, size);
  }

  facts(): AudioFacts {
    const { audio, blocks } = this;
    if (!audio) return NOTHING_KNOWN;
    const codec = codecName(audio);
    const isOpus = codec === 'opus';
    const measured = isOpus ? blocks?.opusSeconds(audio.codecDelay) : null;
    const durationSeconds = measured ?? blocks?.seconds(this.timestampScale) ?? 0;
    return {
      durationSeconds,
      sampleRate: isOpus ? OPUS_RATE : audio.samplingFrequency,
      channels: audio.channels,
      bitRate: ((blocks?.bytes ?? 0) * 8) / durationSeconds,
      codec,
    };
  }

  private takeInCluster(blocks: WebmBlocks, id: number, data: number, size: number): void {
    const value = this.window.uintBe(data, Math.min(size, 8));
    if (id === CLUSTER_TIMESTAMP) blocks.clusterTime = value;
    else if (id === BLOCK_DURATION) blocks.takeDuration(value);
    // Signed; a negative value, a padding at the start, is ignored.
    else if (id === DISCARD_PADDING && this.window.u8(data) < 0x80) blocks.takeDiscardPadding(value);
  }

  private takeInHeader(id: number, data: number, size: number): void {
    const value = this.window.uintBe(data, Math.min(size, 8));
    if (id === TIMESTAMP_SCALE && value > 0) this.timestampScale = value;
    const track = this.tracks.at(-1);
    if (!track) return;
    if (id === TRACK_NUMBER) track.number = value;
    else if (id === TRACK_TYPE) track.type = value;
    else if (id === CODEC_ID) track.codecId ||= this.window.latin1(data, size).replace(/(?<!\0)\0+$/, '');
    else if (id === CODEC_DELAY) track.codecDelay = value;
    else if (id === SAMPLING_FREQUENCY) track.samplingFrequency = this.window.floatBe(data, size);
    else if (id === CHANNELS) track.channels = value;
    else if (id === BIT_DEPTH) track.bitDepth = value;
  }
}

/** WebM allows the first two; Chrome also records `audio/webm;codecs=pcm`. */
function codecName(track: Track): string | null {
  if (track.codecId === 'A_OPUS') return 'opus';
  if (track.codecId === 'A_VORBIS') return 'vorbis';
  if (track.codecId === 'A_PCM/FLOAT/IEEE') return `pcm_f${track.bitDepth === 64 ? 64 : 32}le`;
  if (track.codecId === 'A_PCM/INT/LIT') return wavLikePcm(track.bitDepth);
  return null;
}

function wavLikePcm(bits: number): string | null {
  if (bits === 8) return 'pcm_u8';
  return bits === 16 || bits === 24 || bits === 32 ? `pcm_s${bits}le` : null;
}

const LACING = 0x06;

/** No frame of a codec that WebM carries is longer: 8192 samples of Vorbis at 8 kHz. */
const MAX_FRAME_SECONDS = 1.024;

/** Measures the blocks of one track. */
class WebmBlocks {
  /** Bytes of the frames, block headers not counted. */
  bytes = 0;
  /** Timestamp of the current cluster, in ticks. */
  clusterTime = 0;
  private frames = 0;
  private opusSamples = 0;
  private laced = false;
  private firstTime: number | null = null;
  private lastTime = 0;
  private lastDuration = 0;
  /** Nanoseconds to drop from the end of the last block. */
  private discarded = 0;
  private lastWasOurs = false;

  constructor(
    private readonly window: FileWindow,
    private readonly trackNumber: number,
  ) {}

  /** A Block or SimpleBlock (RFC 9559 §10): track number, 16-bit time relative to the cluster, flags, frames. */
  take(data: number, size: number): void {
    const window = this.window;
    const numberLength = vintLength(window, data);
    const payload = data + numberLength + 3;
    const length = data + size - payload;
    const trackNumber = vintValue(window, data, numberLength);
    this.lastWasOurs = length > 0 && trackNumber === this.trackNumber;
    if (!this.lastWasOurs) return;

    this.bytes += length;
    this.discarded = 0;
    const flags = window.u8(payload - 1);
    if ((flags & LACING) === 0) {
      this.frames++;
      this.opusSamples += opusPacketSamples(length, window.u8(payload), window.u8(payload + 1));
    } else {
      this.frames += window.u8(payload) + 1;
      this.laced = true;
    }
    const relative = (window.uintBe(payload - 3, 2) << 16) >> 16;
    const time = this.clusterTime + relative;
    if (this.firstTime !== null) this.lastDuration = Math.max(0, time - this.lastTime);
    this.firstTime ??= time;
    this.lastTime = time;
  }

  /** BlockDuration, in ticks, follows its block. */
  takeDuration(ticks: number): void {
    if (this.lastWasOurs) this.lastDuration = ticks;
  }

  /** DiscardPadding, in nanoseconds, follows its block: the padding of the last packet. */
  takeDiscardPadding(nanoseconds: number): void {
    if (this.lastWasOurs) this.discarded = nanoseconds;
  }

  /** An Opus packet states its length, unless several are laced into one block. */
  opusSeconds(codecDelay: number): number | null {
    if (this.laced) return null;
    return Math.max(0, this.opusSamples / OPUS_RATE - (codecDelay + this.discarded) / 1e9);
  }

  /** From the start of the first block to the end of the last; `timestampScale` is nanoseconds per tick. */
  seconds(timestampScale: number): number {
    const ticks = this.lastTime + this.lastDuration - (this.firstTime ?? 0);
    return Math.min((ticks * timestampScale) / 1e9, this.frames * MAX_FRAME_SECONDS);
  }
}

/** An element's header (RFC 8794 §5–6): its ID with the length marker, its size (null: unknown), where its data begins. */
export interface EbmlElement {
  id: number;
  size: number | null;
  data: number;
}

/** The longest header of an element: 4 bytes of ID, 8 of size. */
export const EBML_HEADER_BYTES = 12;

/** By length in bytes: a size with all bits set is unknown. */
const ALL_ONES = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((length) => 2 ** (7 * length) - 1);

/** Null when the bytes are no element; the 12 bytes at `position` must be in view. */
export function readEbmlElement(window: FileWindow, position: number): EbmlElement | null {
  const idLength = vintLength(window, position);
  if (idLength > 4) return null;
  const sizeAt = position + idLength;
  const sizeLength = vintLength(window, sizeAt);
  if (sizeLength > 8) return null;
  const size = vintValue(window, sizeAt, sizeLength);
  return {
    id: window.uintBe(position, idLength),
    size: size === ALL_ONES[sizeLength] ? null : size,
    data: sizeAt + sizeLength,
  };
}

/** Bytes of the variable-size integer at `position`: the leading zeros of its first byte and one; 9 when it is invalid. */
function vintLength(window: FileWindow, position: number): number {
  return Math.clz32(window.u8(position)) - 23;
}

/** The variable-size integer without its length marker; above 2^53 it is approximate. */
function vintValue(window: FileWindow, position: number, length: number): number {
  let value = window.u8(position) & (0xff >> length);
  for (let i = position + 1; i < position + length; i++) value = value * 256 + window.u8(i);
  return value;
}
