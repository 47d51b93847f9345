import { assignSpeakers, lengthened, SpeakerTimeline, type Timed } from './assign-speakers.js';
import type { SpeakerSegment } from './speaker-diarizer.js';

/** A word, and the name of its speaker. */
export interface SpokenWord extends Timed {
  speaker?: string;
}

const LETTERS = 26;

/** `A` to `Z`, then `AA`, `AB` and so on. @param index from 0 */
export function labelAt(index: number): string {
  const letter = String.fromCodePoint('A'.charCodeAt(0) + (index % LETTERS));
  return index < LETTERS ? letter : labelAt(Math.floor(index / LETTERS) - 1) + letter;
}

/** The names of the speakers, in the order in which they appear. */
export const speakersIn = (words: readonly SpokenWord[]): string[] => [
  ...new Set(words.flatMap(({ speaker }) => speaker ?? [])),
];

/** Names speakers by labels, in the order in which they appear. */
export function labelled<Word extends SpokenWord>(words: readonly Word[]): Word[] {
  return renamed(words, new Map(speakersIn(words).map((speaker, index) => [speaker, labelAt(index)])));
}

/** Words without one of these speakers get that of the word whose time is nearest. */
export function completed<Word extends SpokenWord>(words: readonly Word[], spoken: readonly SpokenWord[]): Word[] {
  const speakers = speakersIn(spoken);
  const isKnown = ({ speaker }: Word): boolean => speaker !== undefined && speakers.includes(speaker);
  if (words.every(isKnown)) return [...words];
  const nearest = assignSpeakers(words, segmentsOf(spoken, speakers));
  return words.map((word, index) => (isKnown(word) ? word : { ...word, speaker: speakers[nearest[index] ?? -1] }));
}

/**
 * Names the speakers of another run as those of the run before: whose words share the most time are the same. Others get
 * labels that nobody had.
 * @param words with labels
 * @param before the words that were served
 */
export function keepLabels<Word extends SpokenWord>(words: readonly Word[], before: readonly SpokenWord[]): Word[] {
  const kept = speakersIn(before);
  if (kept.length === 0) return [...words];
  const timeline = new SpeakerTimeline(segmentsOf(before, kept));
  const shared = new Map<string, { label: string; earlier: number; seconds: number }>();
  for (const word of words) {
    if (word.speaker === undefined) continue;
    for (const [earlier, seconds] of timeline.sharesOf(word)) {
      const key = `${word.speaker} ${earlier}`;
      shared.set(key, { label: word.speaker, earlier, seconds: (shared.get(key)?.seconds ?? 0) + seconds });
    }
  }
  const names = new Map<string, string>();
  const taken = new Set<number>();
  for (const { label, earlier } of [...shared.values()].toSorted((a, b) => b.seconds - a.seconds)) {
    if (names.has(label) || taken.has(earlier)) continue;
    names.set(label, kept[earlier] as string);
    taken.add(earlier);
  }
  for (const label of speakersIn(words).filter((each) => !names.has(each))) {
    const used = new Set([...kept, ...names.values()]);
    let index = 0;
    while (used.has(labelAt(index))) index++;
    names.set(label, labelAt(index));
  }
  return renamed(words, names);
}

function segmentsOf(words: readonly SpokenWord[], speakers: readonly string[]): SpeakerSegment[] {
  return words.flatMap(({ speaker, ...word }) =>
    speaker === undefined ? [] : { ...lengthened(word), speaker: speakers.indexOf(speaker) },
  );
}

const renamed = <Word extends SpokenWord>(words: readonly Word[], names: ReadonlyMap<string, string>): Word[] =>
  words.map((word) => ({ ...word, speaker: word.speaker === undefined ? undefined : names.get(word.speaker) }));
