import type { SpeakerSegment } from './speaker-diarizer.js';

/** A voice that is heard for less time in all is a cough or a piece of another's word. */
export const MIN_VOICE_SECONDS = 0.7;
const MS = 1000;

/**
 * Makes people of what a diarizer has heard: sorted by start, within the audio, each voice without overlaps with itself,
 * numbered by first appearance. What is too short for a person, and who is more than there can be, is another's.
 * @param most people that there are; null: any number
 */
export function tidySegments(heard: readonly SpeakerSegment[], seconds: number, most: number | null): SpeakerSegment[] {
  const segments = joined(clamped(heard, seconds));
  const voices = voicesOf(segments);
  while (voices.size > 1) {
    const least = [...voices.values()].reduce((one, other) => (other.seconds < one.seconds ? other : one));
    const isTooMany = most !== null && voices.size > most;
    if (least.seconds >= MIN_VOICE_SECONDS && !isTooMany) break;
    giveAway(least, segments, voices);
  }
  return numbered(joined(segments));
}

function clamped(segments: readonly SpeakerSegment[], seconds: number): SpeakerSegment[] {
  const within = (time: number): number => Math.round(Math.min(Math.max(time, 0), seconds) * MS) / MS;
  return segments
    .map(({ start, end, speaker }) => ({ start: within(start), end: within(end), speaker }))
    .filter(({ start, end }) => end > start);
}

/** Sorted by start; what a voice says is one segment where it overlaps or touches. */
function joined(segments: readonly SpeakerSegment[]): SpeakerSegment[] {
  const result: SpeakerSegment[] = [];
  const last = new Map<number, SpeakerSegment>();
  for (const segment of segments.toSorted((one, other) => one.start - other.start || one.end - other.end)) {
    const before = last.get(segment.speaker);
    if (before && segment.start <= before.end) {
      before.end = Math.max(before.end, segment.end);
    } else {
      const copy = { ...segment };
      last.set(segment.speaker, copy);
      result.push(copy);
    }
  }
  return result;
}

/** What one speaker says. */
interface Voice {
  speaker: number;
  seconds: number;
  /** Indexes of the segments. */
  segments: number[];
}

function voicesOf(segments: readonly SpeakerSegment[]): Map<number, Voice> {
  const voices = new Map<number, Voice>();
  for (const [index, { start, end, speaker }] of segments.entries()) {
    const voice = voices.get(speaker) ?? { speaker, seconds: 0, segments: [] };
    voices.set(speaker, voice);
    voice.seconds += end - start;
    voice.segments.push(index);
  }
  return voices;
}

/** Gives each segment of a voice to the one that is heard nearest to it. @param segments sorted by start */
function giveAway(voice: Voice, segments: SpeakerSegment[], voices: Map<number, Voice>): void {
  const longest = segments.reduce((most, { start, end }) => Math.max(most, end - start), 0);
  const taken = voice.segments.map((index) => [index, nearestOther(segments, index, longest)] as const);
  voices.delete(voice.speaker);
  for (const [index, speaker] of taken) {
    const segment = segments[index] as SpeakerSegment;
    const taker = voices.get(speaker) as Voice;
    segment.speaker = speaker;
    taker.seconds += segment.end - segment.start;
    taker.segments.push(index);
  }
}

/** Looks from the segment to both sides, as far as there may be a nearer one. */
function nearestOther(segments: readonly SpeakerSegment[], index: number, longest: number): number {
  const { start, end, speaker } = segments[index] as SpeakerSegment;
  let nearest = { speaker, gap: Infinity };
  const compare = (other: SpeakerSegment): void => {
    const gap = Math.max(other.start - end, start - other.end);
    if (other.speaker !== speaker && gap < nearest.gap) nearest = { speaker: other.speaker, gap };
  };
  for (let before = index - 1; before >= 0; before--) {
    const other = segments[before] as SpeakerSegment;
    if (start - other.start - longest >= nearest.gap) break;
    compare(other);
  }
  for (let after = index + 1; after < segments.length; after++) {
    const other = segments[after] as SpeakerSegment;
    if (other.start - end >= nearest.gap) break;
    compare(other);
  }
  return nearest.speaker;
}

function numbered(segments: readonly SpeakerSegment[]): SpeakerSegment[] {
  const numbers = new Map<number, number>();
  return segments.map((segment) => {
    const speaker = numbers.get(segment.speaker) ?? numbers.size;
    numbers.set(segment.speaker, speaker);
    return { ...segment, speaker };
  });
}
