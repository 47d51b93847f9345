/** How many columns of a terminal a text takes. */

/** Emoji and the scripts of East Asia take two columns (UAX 11, its wide ranges). */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|^[\u{20000}-\u{3fffd}]/u;
const MARK = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** What a terminal would obey rather than show: a name must not move the cursor or set its title. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

export function widthOf(text: string): number {
  // oxlint-disable-next-line no-control-regex
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of charactersOf(text)) width += columnsOf(segment);
  return width;
}

/** The text in at most `width` columns, with an ellipsis where it was cut. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let fitted = '';
  let used = 1;
  for (const { segment } of charactersOf(text)) {
    used += columnsOf(segment);
    if (used > width) break;
    fitted += segment;
  }
  return `${fitted}…`;
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** In one line, without characters that a terminal would obey. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(CONTROL, '\ufffd');
}

/** Lines and tabs stay. */
export function printable(text: string): string {
  return text.replace(CONTROL, (character) => (character === '\n' || character === '\t' ? character : '\ufffd'));
}

let segmenter: Intl.Segmenter | null = null;

function charactersOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

function columnsOf(character: string): number {
  // The selector asks for an emoji where a symbol would be shown.
  if (WIDE.test(character) || character.includes('\ufe0f')) return 2;
  return MARK.test(character) ? 0 : 1;
}
