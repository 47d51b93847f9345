/** Units `start + phrase` up to `end` repeat the phrase that begins at `start`. */
export interface Loop {
  start: number;
  /** Length of the phrase. */
  phrase: number;
  end: number;
}

/** A phrase that is repeated less often may well be said. */
const MIN_TIMES = 5;
const MAX_PHRASE = 12;

/**
 * Finds the places where the same phrase stands at least five times in a row, as when Whisper is caught in a loop. That
 * alone does not prove that nobody said it.
 */
export function findLoops(texts: readonly string[]): Loop[] {
  const units = texts.map(plain);
  const loops: Loop[] = [];
  for (let at = 0; at < units.length;) {
    const loop = loopAt(units, at);
    if (loop) loops.push(loop);
    at = loop?.end ?? at + 1;
  }
  return loops;
}

/** The text without the repeats of its loops. */
export function withoutRepeats(text: string): string {
  const words = text.trim().split(/\s+/);
  const repeats = new Set(findLoops(words).flatMap(repeatsOf));
  return words.filter((_, index) => !repeats.has(index)).join(' ');
}

/** Indexes of the units that only repeat. */
export function repeatsOf({ start, phrase, end }: Loop): number[] {
  return Array.from({ length: end - start - phrase }, (_, index) => start + phrase + index);
}

/** The shortest phrase that loops from here. */
function loopAt(units: readonly string[], start: number): Loop | null {
  for (let phrase = 1; phrase <= MAX_PHRASE; phrase++) {
    let end = start + phrase;
    while (end < units.length && units[end] === units[end - phrase]) end++;
    const times = Math.floor((end - start) / phrase);
    if (times >= MIN_TIMES) return { start, phrase, end: start + times * phrase };
  }
  return null;
}

/** Without case and punctuation. */
function plain(unit: string): string {
  return unit
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}
