import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import { readEbmlElement } from '../formats/ebml.js';
import type { FileWindow } from '../formats/file-window.js';
import { OPUS_RATE } from '../formats/opus-packet.js';
import { WebmBlocks } from '../formats/webm-blocks.js';

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
