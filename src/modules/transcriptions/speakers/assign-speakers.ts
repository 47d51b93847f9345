import type { SpeakerSegment } from './speaker-diarizer.js';

/** In seconds from the start of the recording. */
export interface Timed {
  start: number;
  end: number;
}

/** Of a word without a length: engines give some. */
const SHORTEST_SECONDS = 0.01;

/**
 * Whose each word is: the speaker with the most of its time, else that of the nearest segment. Of two that have as much,
 * the one who began first.
 * @param segments in any order; they may overlap, and end after the audio
 * @returns null for each word if there are no segments
 */
export function assignSpeakers(words: readonly Timed[], segments: readonly SpeakerSegment[]): (number | null)[] {
  const timeline = new SpeakerTimeline(segments);
  return words.map((word) => timeline.speakerOf(word));
}

/** Segments by the time that they share with a word. */
export class SpeakerTimeline {
  private readonly segments: readonly SpeakerSegment[];
  /** Of each segment and those before it the one that ends last, by its index. */
  private readonly lastToEnd: number[] = [];

  constructor(segments: readonly SpeakerSegment[]) {
    this.segments = segments.toSorted((a, b) => a.start - b.start);
    for (const [index, { end }] of this.segments.entries()) {
      const last = this.lastToEnd.at(-1);
      this.lastToEnd.push(last === undefined || end > this.endOf(last) ? index : last);
    }
  }

  speakerOf(word: Timed): number | null {
    const [most] = [...this.sharesOf(word)].toSorted(([, a], [, b]) => b - a);
    return most?.[0] ?? this.nearestTo(word);
  }

  /** Seconds that each speaker has of a word, the one who began first before the others. */
  sharesOf(word: Timed): Map<number, number> {
    const { start, end } = lengthened(word);
    const shares: [speaker: number, seconds: number][] = [];
    for (let at = this.firstFrom(end) - 1; at >= 0 && this.endOf(this.lastToEnd[at]) > start; at--) {
      const segment = this.segments[at] as SpeakerSegment;
      const seconds = Math.min(segment.end, end) - Math.max(segment.start, start);
      if (seconds > 0) shares.push([segment.speaker, seconds]);
    }
    const sums = new Map<number, number>();
    for (const [speaker, seconds] of shares.toReversed()) sums.set(speaker, (sums.get(speaker) ?? 0) + seconds);
    return sums;
  }

  private nearestTo(word: Timed): number | null {
    const { start, end } = lengthened(word);
    const next = this.firstFrom(end);
    const before = this.segments[this.lastToEnd[next - 1] ?? -1];
    const after = this.segments[next];
    if (!before || !after) return (before ?? after)?.speaker ?? null;
    return start - before.end <= after.start - end ? before.speaker : after.speaker;
  }

  private endOf(index: number | undefined): number {
    return this.segments[index ?? -1]?.end ?? -Infinity;
  }

  /** Index of the first segment that starts then or later. */
  private firstFrom(time: number): number {
    let low = 0;
    for (let high = this.segments.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((this.segments[middle] as SpeakerSegment).start < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export const lengthened = ({ start, end }: Timed): Timed => ({ start, end: Math.max(end, start + SHORTEST_SECONDS) });
