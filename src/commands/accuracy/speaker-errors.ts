import type { SpokenTurn } from './rttm.js';

/** Seconds, each counted once for every speaker of the moment. */
export interface SpeakerErrors {
  /** That somebody speaks in the reference. */
  speech: number;
  missed: number;
  falseAlarm: number;
  /** Given to another speaker. */
  confused: number;
}

/** Missed, false and confused seconds for each second of speech; 0 without any. */
export function errorRate({ speech, missed, falseAlarm, confused }: SpeakerErrors): number {
  return speech === 0 ? 0 : (missed + falseAlarm + confused) / speech;
}

export function sumOfErrors(errors: readonly SpeakerErrors[]): SpeakerErrors {
  const sum: SpeakerErrors = { speech: 0, missed: 0, falseAlarm: 0, confused: 0 };
  for (const key of Object.keys(sum) as (keyof SpeakerErrors)[]) {
    sum[key] = errors.reduce((total, one) => total + one[key], 0);
  }
  return sum;
}

/** A stretch of time in which nobody begins or ends. */
interface Section {
  start: number;
  end: number;
  said: ReadonlySet<string>;
  heard: ReadonlySet<string>;
}

/**
 * Compares what a diarizer has heard with the reference, as md-eval.pl of NIST does: from the first to the last moment of the
 * reference, overlapping speech included. Speakers are matched one to one so that they share the most time, before
 * the collars are taken out.
 * @param collar seconds before and after each begin and end in the reference that do not count
 */
export function speakerErrors(
  reference: readonly SpokenTurn[],
  heard: readonly SpokenTurn[],
  collar: number,
): SpeakerErrors {
  const errors: SpeakerErrors = { speech: 0, missed: 0, falseAlarm: 0, confused: 0 };
  if (reference.length === 0) return errors;
  const bounds = reference.flatMap(({ start, end }) => [start, end]);
  const [first, last] = [bounds.reduce((a, b) => Math.min(a, b)), bounds.reduce((a, b) => Math.max(a, b))];
  const isIn = ({ start, end }: Section): boolean => start >= first && end <= last;
  const matched = matchSpeakers(sectionsOf(reference, heard, [first, last]).filter(isIn));
  const zones = collar > 0 ? bounds.flatMap((bound) => [bound - collar, bound + collar]) : [];
  const counted = countedIn(bounds, collar);
  for (const section of sectionsOf(reference, heard, [first, last, ...zones])) {
    if (!isIn(section) || !counted(section)) continue;
    const seconds = section.end - section.start;
    const [said, heardNow] = [section.said.size, section.heard.size];
    const right = [...section.said].filter((speaker) => section.heard.has(matched.get(speaker) ?? '')).length;
    errors.speech += said * seconds;
    errors.missed += Math.max(0, said - heardNow) * seconds;
    errors.falseAlarm += Math.max(0, heardNow - said) * seconds;
    errors.confused += (Math.min(said, heardNow) - right) * seconds;
  }
  return errors;
}

/** Whether a section lies outside of all collars. */
function countedIn(bounds: readonly number[], collar: number): (section: Section) => boolean {
  if (collar === 0) return () => true;
  const sorted = bounds.toSorted((a, b) => a - b);
  let next = 0;
  return ({ start, end }) => {
    const middle = (start + end) / 2;
    // Sections come in order.
    while (next < sorted.length && (sorted[next] as number) + collar < middle) next++;
    return next === sorted.length || middle < (sorted[next] as number) - collar;
  };
}

function sectionsOf(
  reference: readonly SpokenTurn[],
  heard: readonly SpokenTurn[],
  more: readonly number[],
): Section[] {
  interface Change {
    time: number;
    /** Null: a bound where nobody begins or ends. */
    speakers: Map<string, number> | null;
    speaker: string;
    by: number;
  }
  const said = new Map<string, number>();
  const hearing = new Map<string, number>();
  const changesOf = (turns: readonly SpokenTurn[], speakers: Map<string, number>): Change[] =>
    turns.flatMap(({ speaker, start, end }) => [
      { time: start, speakers, speaker, by: 1 },
      { time: end, speakers, speaker, by: -1 },
    ]);
  const bounds = more.map((time): Change => ({ time, speakers: null, speaker: '', by: 0 }));
  const changes = [...changesOf(reference, said), ...changesOf(heard, hearing), ...bounds];
  const active = (speakers: Map<string, number>): Set<string> =>
    new Set([...speakers].filter(([, count]) => count > 0).map(([speaker]) => speaker));
  const sections: Section[] = [];
  let before = -Infinity;
  for (const { time, speakers, speaker, by } of changes.toSorted((one, other) => one.time - other.time)) {
    if (time > before && before > -Infinity) {
      sections.push({ start: before, end: time, said: active(said), heard: active(hearing) });
    }
    speakers?.set(speaker, (speakers.get(speaker) ?? 0) + by);
    before = time;
  }
  return sections;
}

/** For each speaker of the reference the one of the diarizer who is taken for the same. */
function matchSpeakers(sections: readonly Section[]): Map<string, string> {
  const said = [...new Set(sections.flatMap((section) => [...section.said]))];
  const heard = [...new Set(sections.flatMap((section) => [...section.heard]))];
  const shared = said.map(() => heard.map(() => 0));
  for (const section of sections) {
    for (const one of section.said) {
      for (const other of section.heard) {
        const row = shared[said.indexOf(one)] as number[];
        row[heard.indexOf(other)] = (row[heard.indexOf(other)] as number) + section.end - section.start;
      }
    }
  }
  const pairs = bestAssignment(shared);
  return new Map(pairs.map(([row, column]) => [said[row] as string, heard[column] as string]));
}

const filled = (length: number, value: number): number[] => Array.from({ length }, () => value);

/**
 * Pairs of rows and columns with the highest sum, each of them once: the Hungarian method on a square of costs.
 * https://doi.org/10.1002/nav.3800020109
 */
function bestAssignment(gains: readonly (readonly number[])[]): [row: number, column: number][] {
  const size = Math.max(gains.length, ...gains.map(({ length }) => length));
  const costOf = (row: number, column: number): number => -(gains[row]?.[column] ?? 0);
  const [rowPrice, columnPrice] = [filled(size, 0), filled(size + 1, 0)];
  /** Of each column; the last one is where a search begins. */
  const rowOf = filled(size + 1, -1);
  for (let row = 0; row < size; row++) {
    rowOf[size] = row;
    const least = filled(size, Infinity);
    const cameFrom = filled(size, size);
    const visited = new Set<number>();
    let column = size;
    while (rowOf[column] !== -1) {
      visited.add(column);
      const current = rowOf[column] as number;
      let [step, nearest] = [Infinity, size];
      for (let other = 0; other < size; other++) {
        if (visited.has(other)) continue;
        const cost = costOf(current, other) - (rowPrice[current] as number) - (columnPrice[other] as number);
        if (cost < (least[other] as number)) [least[other], cameFrom[other]] = [cost, column];
        if ((least[other] as number) < step) [step, nearest] = [least[other] as number, other];
      }
      for (const seen of visited) {
        rowPrice[rowOf[seen] as number] = (rowPrice[rowOf[seen] as number] as number) + step;
        columnPrice[seen] = (columnPrice[seen] as number) - step;
      }
      for (let other = 0; other < size; other++) {
        if (!visited.has(other)) least[other] = (least[other] as number) - step;
      }
      column = nearest;
    }
    while (column !== size) {
      const previous = cameFrom[column] as number;
      rowOf[column] = rowOf[previous] as number;
      column = previous;
    }
  }
  return rowOf
    .slice(0, size)
    .flatMap((row, column): [number, number][] => ((gains[row]?.[column] ?? 0) > 0 ? [[row, column]] : []));
}
