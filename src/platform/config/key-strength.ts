/** Random hex of 32 characters is estimated at 100 to 120 bits, `openssl rand -hex 32` at 230. */
export const MIN_KEY_BITS = 80;

/**
 * An upper estimate of the entropy of a key in bits, from how often its characters and the steps between them occur and
 * from its period. It finds keys that a person typed or repeated, not every weak one.
 */
export function estimateBits(key: string): number {
  const characters = Array.from(key.slice(0, periodOf(key)), (character) => character.codePointAt(0) as number);
  const steps = characters.slice(1).map((code, i) => code - (characters[i] as number));
  return Math.min(bitsOf(characters), bitsOf(steps));
}

/** Shannon entropy of one value, times the number of values. */
function bitsOf(values: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const share = (count: number): number => count / values.length;
  return values.length * [...counts.values()].reduce((sum, count) => sum - share(count) * Math.log2(share(count)), 0);
}

/** Length of the shortest beginning whose repetition makes the whole text. */
function periodOf(text: string): number {
  for (let length = 1; length < text.length; length++) {
    if (text.startsWith(text.slice(length)) && length <= text.length / 2) return length;
  }
  return text.length;
}
