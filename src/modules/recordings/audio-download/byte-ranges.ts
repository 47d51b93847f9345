import { trimmedEnd } from '../../../platform/http/input/text-rules.js';
import type { ByteRange } from '../../../platform/storage/file-system.js';

/** More in one request are not served: the whole file is (RFC 9110 §14.2 allows it). */
export const MAX_RANGES = 16;

/** First and last position, or the length of a suffix. */
const RANGE_SPEC = /^(?:(\d+)-(\d*)|-(\d+))$/;

/**
 * The ranges that a `Range` header asks for, in the order asked, those that overlap or touch as one (RFC 9110 §14). Not
 * the package range-parser: it refuses a suffix that is longer than the file, and takes malformed numbers.
 * @returns empty when no range lies within the file: 416. Null when the header must or may be ignored: another unit, a
 *   broken grammar, too many ranges.
 */
export function parseByteRanges(header: string, size: number): ByteRange[] | null {
  const [, set] = /^bytes=(.*)$/i.exec(header.trim()) ?? [];
  if (set === undefined) return null;
  const specs = set.split(',').flatMap((element) => trimmedEnd(element, /[ \t]/).replace(/^[ \t]+/, '') || []);
  if (specs.length === 0 || specs.length > MAX_RANGES) return null;
  let ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = rangeOf(spec, size);
    if (range === 'invalid') return null;
    if (range !== 'unsatisfiable') ranges = merged(ranges, range);
  }
  return ranges;
}

function rangeOf(spec: string, size: number): ByteRange | 'unsatisfiable' | 'invalid' {
  const [, first, last, suffix] = RANGE_SPEC.exec(spec) ?? [];
  if (suffix !== undefined) return suffixOf(Number(suffix), size);
  if (first === undefined) return 'invalid';
  // Positions may have any number of digits.
  if (last && BigInt(last) < BigInt(first)) return 'invalid';
  const start = Number(first);
  if (start >= size) return 'unsatisfiable';
  return { start, end: last ? Math.min(Number(last), size - 1) : size - 1 };
}

function suffixOf(length: number, size: number): ByteRange | 'unsatisfiable' {
  return length === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - length), end: size - 1 };
}

/** The merged range takes the place of the first of those that it consists of. */
function merged(ranges: readonly ByteRange[], added: ByteRange): ByteRange[] {
  const touching = ranges.filter(({ start, end }) => added.start <= end + 1 && start <= added.end + 1);
  const [place] = touching;
  if (!place) return [...ranges, added];
  const all = [added, ...touching];
  const union = { start: Math.min(...all.map(({ start }) => start)), end: Math.max(...all.map(({ end }) => end)) };
  return ranges.flatMap((range) => {
    if (range === place) return union;
    return touching.includes(range) ? [] : range;
  });
}
