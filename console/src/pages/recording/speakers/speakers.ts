import { t } from '../../../language/texts';

import type { Speaker } from 'vnotes';

/** Names by label; a label without one is left out. */
export type SpeakerNames = Readonly<Record<string, string>>;

/** Somebody who speaks: one label, or several with the same name. */
export interface Person {
  labels: readonly string[];
  /** Null where nobody gave one. */
  name: string | null;
  /** The name, else `Speaker A`. */
  title: string;
  /** The number of the colour. It stays with the first label when names change. */
  colour: number;
  words: number;
  seconds: number;
}

/** What the service takes, in characters. */
export const LONGEST_NAME = 100;

/** As many as styles/tokens.css has. */
const COLOURS = 8;

/** The persons in a recording, in the order in which they speak first. */
export function personsOf(labelled: readonly Speaker[]): Person[] {
  const persons = new Map<string, Person>();
  labelled.forEach(({ speaker, name, words, seconds }, index) => {
    const key = name ?? speaker;
    const before = persons.get(key);
    persons.set(key, {
      labels: [...(before?.labels ?? []), speaker],
      name: before ? (before.name ?? name) : name,
      title: before?.name ?? name ?? t('Speaker {label}', { label: speaker }),
      colour: before?.colour ?? index % COLOURS,
      words: words + (before?.words ?? 0),
      seconds: seconds + (before?.seconds ?? 0),
    });
  });
  return [...persons.values()];
}

export const namesOf = (labelled: readonly Speaker[]): SpeakerNames =>
  Object.fromEntries(labelled.flatMap(({ speaker, name }) => (name === null ? [] : [[speaker, name]])));

/** The names with those of some labels changed. @param name null takes it away */
export function renamed(names: SpeakerNames, labels: readonly string[], name: string | null): SpeakerNames {
  const rest = Object.entries(names).filter(([label]) => !labels.includes(label));
  return Object.fromEntries([...rest, ...(name === null ? [] : labels.map((label) => [label, name]))]);
}

export const isSameNames = (one: SpeakerNames, other: SpeakerNames): boolean => textOf(one) === textOf(other);

const textOf = (names: SpeakerNames): string =>
  JSON.stringify(Object.entries(names).toSorted(([one], [other]) => (one < other ? -1 : 1)));
