import type { FileResult } from '../measuring/accuracy-result.js';
import { alignWords, errorsIn } from '../statistics/word-errors.js';
import { comparedUnits } from '../text/compared-units.js';

/** The recordings with the most errors, each with what was said above what was heard, column by column. */
export function worstLines(files: readonly FileResult[], count = 10): string[] {
  const share = ({ errors }: FileResult): number => errorsIn(errors) / Math.max(1, errors.units);
  return files
    .filter(({ errors }) => errorsIn(errors) > 0)
    .toSorted((a, b) => errorsIn(b.errors) - errorsIn(a.errors) || share(b) - share(a))
    .slice(0, count)
    .map(linesOf);
}

/** Columns of a terminal. */
const WIDTH = 100;

function linesOf({ file, lang, ref, text, errors, problem }: FileResult): string {
  const [said, heard] = [comparedUnits(ref, lang), comparedUnits(text, lang)];
  const rows: [string, string][] = [['', '']];
  for (const edit of alignWords(said, heard)) {
    const [above, below] = columnOf(said[edit.said], heard[edit.heard], edit.kind);
    const last = rows.at(-1) as [string, string];
    if (last[0].length + above.length > WIDTH) rows.push([above, below]);
    else rows[rows.length - 1] = [`${last[0]} ${above}`, `${last[1]} ${below}`];
  }
  const table = rows.map(([above, below]) => `  said  ${above.trim()}\n  heard ${below.trim()}`).join('\n\n');
  const head = `${file}: ${errorsIn(errors)} of ${errors.units}${problem ? ` (${problem})` : ''}`;
  return `${head}\n${table}`;
}

/** What differs is in capitals, what is missing is a row of stars, both in columns of the same width. */
function columnOf(said: string | undefined, heard: string | undefined, kind: string): [string, string] {
  const [above, below] = [said ?? '', heard ?? ''];
  const width = Math.max(above.length, below.length);
  const shown = (unit: string): string =>
    kind === 'correct' ? unit.padEnd(width) : unit.toUpperCase().padEnd(width, unit === '' ? '*' : ' ');
  return [shown(above), shown(below)];
}
