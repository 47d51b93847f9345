import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from './file-window.js';
import { readSampleEntry, SAMPLE_DESCRIPTION_BYTES, type SampleEntry } from './mp4-sample-entry.js';

/** In boxes: two hours in fragments of 100 ms, each of seven boxes, are 500,000. */
const MAX_BOXES = 1_000_000;

/** Read without moving the window: a header, and what is taken from a box. */
const LOOK_AHEAD = 16 + SAMPLE_DESCRIPTION_BYTES;

/**
 * Measures the first audio track by its table of samples and its fragments. Lengths that the headers state are ignored:
 * those of a live recording are 0.
 */
export async function probeM4a(window: FileWindow): Promise<AudioFacts> {
  const reading = new Mp4Reading(window);
  await walk(window, reading, () => false);
  return reading.facts();
}

/** Codec of the first audio track, as ffmpeg names it; null when it is not known. */
export async function mp4Codec(window: FileWindow): Promise<string | null> {
  const reading = new Mp4Reading(window);
  await walk(window, reading, () => reading.knowsCodec);
  return reading.facts().codec;
}

/** Goes forward through the boxes, into those that matter: the file is read at most once, and no deeper than five. */
async function walk(window: FileWindow, reading: Mp4Reading, isDone: () => boolean): Promise<void> {
  const open: Mp4Box[] = [];
  let position = 0;
  for (let boxes = 0; boxes < MAX_BOXES && !isDone(); boxes++) {
    let parent = open.at(-1);
    while (parent && position + BOX_HEADER_BYTES > parent.end) {
      position = parent.end;
      open.pop();
      parent = open.at(-1);
    }
    const limit = parent?.end ?? window.size;
    if (position + BOX_HEADER_BYTES > limit) return;
    if (!window.holds(position, LOOK_AHEAD)) await window.moveTo(position);
    const box = readBox(window, position, limit);
    if (!box) {
      position = limit;
    } else if (reading.enter(parent?.type ?? '', box)) {
      open.push(box);
      position = box.data;
    } else {
      await reading.take(parent?.type ?? '', box);
      position = box.end;
    }
  }
}

/** Boxes that are entered, by the type of their parent; the root has none. All others are taken as they are. */
const ENTERED: Record<string, readonly string[]> = {
  '': ['moov', 'moof'],
  moov: ['trak', 'mvex'],
  trak: ['edts', 'mdia'],
  mdia: ['minf'],
  minf: ['stbl'],
  moof: ['traf'],
};
const MAX_TRACKS = 64;

// Flags of `tfhd` and `trun` (ISO/IEC 14496-12 §8.8.7 and §8.8.8).
const BASE_DATA_OFFSET = 0x1;
const DESCRIPTION_INDEX = 0x2;
const DEFAULT_DURATION = 0x8;
const DEFAULT_SIZE = 0x10;
const DATA_OFFSET = 0x1;
const FIRST_FLAGS = 0x4;
const DURATION = 0x100;
const SIZE = 0x200;
const FLAGS = 0x400;
const TIME_OFFSET = 0x800;

/** What the samples of a fragment have in common. */
interface FragmentDefaults {
  duration: number;
  size: number;
}

/** Gathers what the boxes say about the first audio track. A box must be in view up to its 520th byte when it is taken. */
class Mp4Reading {
  private readonly tracks: Mp4Track[] = [];
  private audio: Mp4Track | undefined;
  private movieTimescale = 0;
  private readonly trackDefaults = new Map<number, FragmentDefaults>();
  /** Defaults of the current fragment; null when it is not part of the audio track. */
  private fragment: FragmentDefaults | null = null;
  private mediaBytes = 0;

  constructor(private readonly window: FileWindow) {}

  /** @returns false for a box without boxes that matter. */
  enter(parent: string, { type }: Mp4Box): boolean {
    if (!ENTERED[parent]?.includes(type)) return false;
    if (type === 'trak') {
      if (this.tracks.length === MAX_TRACKS) return false;
      this.tracks.push(new Mp4Track());
    }
    return true;
  }

  /** Whether the codec of the audio is known, if there is any audio. */
  get knowsCodec(): boolean {
    return Boolean(this.audio?.entry);
  }

  async take(parent: string, box: Mp4Box): Promise<void> {
    const track = this.tracks.at(-1);
    if (parent === '' && box.type === 'mdat') this.mediaBytes += box.end - box.data;
    else if (parent === 'moov' && box.type === 'mvhd') this.movieTimescale = this.headerField(box);
    else if (parent === 'mvex' && box.type === 'trex') this.takeTrackDefaults(box);
    else if (parent === 'traf' && box.type === 'tfhd') this.takeFragment(box);
    else if (parent === 'traf' && box.type === 'trun') await this.takeRun(box);
    else if (track && parent === 'edts' && box.type === 'elst') await this.takeEdits(track, box);
    else if (track && parent === 'stbl') await this.takeTable(track, box);
    else if (track) this.takeTrackHeader(track, parent, box);
  }

  facts(): AudioFacts {
    const { audio } = this;
    if (!audio) return NOTHING_KNOWN;
    const stated = this.tracks.reduce((sum, { bytes }) => sum + bytes, 0);
    const held = stated > this.mediaBytes ? this.mediaBytes / stated : 1;
    const durationSeconds = audio.seconds(this.movieTimescale, held);
    return {
      durationSeconds,
      // Rates above 65,535 Hz do not fit into a sample description; then decoders take the timescale.
      sampleRate: audio.entry && (audio.entry.sampleRate || audio.timescale || null),
      channels: audio.entry?.channels || null,
      bitRate: (audio.bytes * held * 8) / durationSeconds,
      codec: audio.entry?.codec ?? null,
    };
  }

  private takeTrackHeader(track: Mp4Track, parent: string, box: Mp4Box): void {
    if (parent === 'trak' && box.type === 'tkhd') track.id = this.headerField(box);
    else if (parent === 'mdia' && box.type === 'mdhd') track.timescale = this.headerField(box);
    else if (parent === 'mdia' && box.type === 'hdlr' && this.window.latin1(box.data + 8, 4) === 'soun') {
      this.audio ??= track;
    }
  }

  /** The 32 bits behind two times: the timescale of `mvhd` and `mdhd`, the id of `tkhd`. */
  private headerField({ data }: Mp4Box): number {
    return this.window.u32be(data + (this.window.u8(data) === 1 ? 20 : 12));
  }

  private async takeEdits(track: Mp4Track, { data, end }: Mp4Box): Promise<void> {
    const isLong = this.window.u8(data) === 1;
    const table = { from: data + 8, end, count: this.window.u32be(data + 4), bytes: isLong ? 20 : 12 };
    await eachEntry(this.window, table, (at) => {
      const duration = isLong ? this.window.uintBe(at, 8) : this.window.u32be(at);
      // Signed: -1 is an empty edit.
      const isNegative = this.window.u8(at + (isLong ? 8 : 4)) >= 0x80;
      const time = isLong ? this.window.uintBe(at + 8, 8) : this.window.u32be(at + 4);
      track.takeEdit(duration, isNegative ? -1 : time);
    });
  }

  private async takeTable(track: Mp4Track, { type, data, end }: Mp4Box): Promise<void> {
    const { window } = this;
    if (type === 'stsd' && track === this.audio) track.entry = readSampleEntry(window, data, end);
    if (type === 'stts' && track === this.audio) {
      const table = { from: data + 8, end, count: window.u32be(data + 4), bytes: 8 };
      await eachEntry(window, table, (at) => {
        track.ticks += window.u32be(at) * window.u32be(at + 4);
      });
    }
    if (type !== 'stsz') return;
    const size = window.u32be(data + 4);
    const count = window.u32be(data + 8);
    if (size > 0) this.takeEqualSamples(track, count, size);
    else {
      await eachEntry(window, { from: data + 12, end, count, bytes: 4 }, (at) => track.addSample(window.u32be(at)));
    }
  }

  /** As many as the file can hold: their number is only a claim. */
  private takeEqualSamples(track: Mp4Track, count: number, size: number): number {
    const samples = Math.min(count, Math.floor(this.window.size / size));
    track.samples += samples;
    track.bytes += samples * size;
    return samples;
  }

  private takeTrackDefaults({ data }: Mp4Box): void {
    if (this.trackDefaults.size === MAX_TRACKS) return;
    const { window } = this;
    this.trackDefaults.set(window.u32be(data + 4), {
      duration: window.u32be(data + 12),
      size: window.u32be(data + 16),
    });
  }

  private takeFragment({ data }: Mp4Box): void {
    const { window } = this;
    const flags = window.uintBe(data + 1, 3);
    const id = window.u32be(data + 4);
    this.fragment = null;
    if (id !== this.audio?.id) return;
    const { duration, size } = this.trackDefaults.get(id) ?? { duration: 0, size: 0 };
    const first = data + 8 + (flags & BASE_DATA_OFFSET ? 8 : 0) + (flags & DESCRIPTION_INDEX ? 4 : 0);
    const second = first + (flags & DEFAULT_DURATION ? 4 : 0);
    this.fragment = {
      duration: flags & DEFAULT_DURATION ? window.u32be(first) : duration,
      size: flags & DEFAULT_SIZE ? window.u32be(second) : size,
    };
  }

  private async takeRun({ data, end }: Mp4Box): Promise<void> {
    const { window, audio, fragment } = this;
    if (!audio || !fragment) return;
    const flags = window.uintBe(data + 1, 3);
    const count = window.u32be(data + 4);
    const from = data + 8 + (flags & DATA_OFFSET ? 4 : 0) + (flags & FIRST_FLAGS ? 4 : 0);
    const bytes = [DURATION, SIZE, FLAGS, TIME_OFFSET].filter((flag) => flags & flag).length * 4;
    if (bytes === 0) {
      const samples = fragment.size > 0 ? this.takeEqualSamples(audio, count, fragment.size) : 0;
      audio.ticks += samples * fragment.duration;
      return;
    }
    await eachEntry(window, { from, end, count, bytes }, (at) => {
      audio.ticks += flags & DURATION ? window.u32be(at) : fragment.duration;
      audio.addSample(flags & SIZE ? window.u32be(at + (flags & DURATION ? 4 : 0)) : fragment.size);
    });
  }
}

/** No frame of a codec that MP4 carries is longer: 8192 samples of ALAC at 8 kHz. */
const MAX_FRAME_SECONDS = 1.024;

/** What the boxes of a track, and of its fragments, say about it. */
class Mp4Track {
  id = 0;
  /** Ticks in a second. */
  timescale = 0;
  entry: SampleEntry | null = null;
  /** As the tables say; the bytes of what is not there are among them. */
  samples = 0;
  ticks = 0;
  bytes = 0;
  /** Position in the track, in ticks, at which it begins to play: what is before it fills the decoder. */
  private firstTick: number | null = null;
  /** In ticks of the movie; null: up to the end. */
  private played: number | null = 0;

  /** One without bytes holds no audio. */
  addSample(bytes: number): void {
    if (bytes > 0) this.samples++;
    this.bytes += bytes;
  }

  /** An entry of the edit list. @param time ticks of the track; negative: nothing is played */
  takeEdit(duration: number, time: number): void {
    if (time < 0) return;
    this.firstTick ??= time;
    this.played = duration === 0 || this.played === null ? null : this.played + duration;
  }

  /** @param held the share of the bytes that the file holds; less than 1 when it is truncated. */
  seconds(movieTimescale: number, held: number): number {
    if (this.timescale === 0) return 0;
    const stated = Math.max(0, this.ticks - (this.firstTick ?? 0)) / this.timescale;
    const played =
      this.firstTick === null || this.played === null || movieTimescale === 0
        ? stated
        : Math.min(stated, this.played / movieTimescale);
    return Math.min(played * held, this.samples * MAX_FRAME_SECONDS);
  }
}

/** A box (ISO/IEC 14496-12 §4.2): its content is from `data` to `end`, which is never behind that of its parent. */
interface Mp4Box {
  type: string;
  data: number;
  end: number;
}

/** Size and type; a size of 64 bits follows them. */
const BOX_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;

/** Null when the size is impossible; 16 bytes must be in view. @param limit end of the parent */
function readBox(window: FileWindow, position: number, limit: number): Mp4Box | null {
  const stated = window.u32be(position);
  const type = window.latin1(position + 4, 4);
  const isLong = stated === 1;
  const data = position + (isLong ? LONG_HEADER_BYTES : BOX_HEADER_BYTES);
  // 0: up to the end.
  const size = isLong ? window.uintBe(position + BOX_HEADER_BYTES, 8) : stated === 0 ? limit - position : stated;
  const end = position + size;
  return end < data || data > limit ? null : { type, data, end: Math.min(end, limit) };
}

/** Calls `take` with the position of each entry of a table, as far as the box holds them. */
async function eachEntry(
  window: FileWindow,
  { from, end, count, bytes }: { from: number; end: number; count: number; bytes: number },
  take: (position: number) => void,
): Promise<void> {
  const held = Math.max(0, Math.min(count, Math.floor((end - from) / bytes)));
  for (let i = 0; i < held; i++) {
    const position = from + i * bytes;
    if (!window.holds(position, bytes)) await window.moveTo(position);
    take(position);
  }
}
