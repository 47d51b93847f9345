import type { FileWindow } from '../formats/file-window.js';
import { NOTHING_KNOWN, type AudioFacts } from '../probes/audio-facts.js';
import { eachEntry, type Mp4Box } from './mp4-boxes.js';
import { Mp4Track } from './mp4-track.js';
import { readSampleEntry } from './sample-entry.js';

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
export class Mp4Reading {
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
      track.isAudio = true;
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
