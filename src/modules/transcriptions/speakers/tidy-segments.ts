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
  let segments = joined(clamped(heard, seconds));
  for (let people = voices(segments); people.length > 1; people = voices(segments)) {
    const [least] = people;
    const isTooMany = most !== null && people.length > most;
    if (!least || (least.seconds >= MIN_VOICE_SECONDS && !isTooMany)) break;
    segments = joined(given(segments, least.speaker));
  }
  return numbered(segments);
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

/** The quietest first. */
function voices(segments: readonly SpeakerSegment[]): { speaker: number; seconds: number }[] {
  const sums = new Map<number, number>();
  for (const { start, end, speaker } of segments) sums.set(speaker, (sums.get(speaker) ?? 0) + end - start);
  return [...sums]
    .map(([speaker, seconds]) => ({ speaker, seconds }))
    .toSorted((one, other) => one.seconds - other.seconds);
}

/** What this speaker says is of whoever speaks nearest to it. */
function given(segments: readonly SpeakerSegment[], speaker: number): SpeakerSegment[] {
  const others = segments.filter((segment) => segment.speaker !== speaker);
  return segments.map((segment) => {
    if (segment.speaker !== speaker) return segment;
    const gap = (other: SpeakerSegment): number => Math.max(other.start - segment.end, segment.start - other.end);
    const nearest = others.reduce((best, other) => (gap(other) < gap(best) ? other : best));
    return { ...segment, speaker: nearest.speaker };
  });
}

function numbered(segments: readonly SpeakerSegment[]): SpeakerSegment[] {
  const numbers = new Map<number, number>();
  return segments.map((segment) => {
    const speaker = numbers.get(segment.speaker) ?? numbers.size;
    numbers.set(segment.speaker, speaker);
    return { ...segment, speaker };
  });
}
