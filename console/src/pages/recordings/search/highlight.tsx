/** As the service reads a query: a phrase in quotation marks, or anything up to the next space. */
const PART = /(-?)(?:"([^"]*)"?|([^\s"]+))/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts without spaces between words, where a part of a run is found. */
const RUN = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u;

/** From so many characters on the last word may be the beginning of one. */
const MIN_BEGINNING = 3;

/** A text with the words of a search marked. Never read as HTML. */
export function Highlight({ text, q }: { text: string; q: string }) {
  return (
    <>{piecesOf(text, wordsOf(q)).map(({ text: piece, isHit }, i) => (isHit ? <mark key={i}>{piece}</mark> : piece))}</>
  );
}

/** The first words of a search in a text, those that follow each other together; null without any. */
export function firstHit(text: string, q: string): string | null {
  const pieces = piecesOf(text, wordsOf(q));
  const first = pieces.findIndex(({ isHit }) => isHit);
  if (first < 0) return null;
  const after = pieces.findIndex(({ text: piece, isHit }, i) => i > first && !isHit && piece.trim() !== '');
  return pieces
    .slice(first, after < 0 ? undefined : after)
    .map(({ text: piece }) => piece)
    .join('')
    .trim();
}

interface Piece {
  text: string;
  isHit: boolean;
}

/** What a recording must have. */
interface Wanted {
  words: ReadonlySet<string>;
  /** The last of them, where it may be the beginning of a word. */
  beginning: string | null;
}

function piecesOf(text: string, words: Wanted): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(WORD)) {
    for (const [start, length] of hitsIn(match[0], words)) {
      const at = match.index + start;
      if (at > end) pieces.push({ text: text.slice(end, at), isHit: false });
      pieces.push({ text: text.slice(at, at + length), isHit: true });
      end = at + length;
    }
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isHit: false });
  return pieces;
}

/** The words that a recording must have; those with `-` are left out. */
function wordsOf(q: string): Wanted {
  const words = new Set<string>();
  let beginning: string | null = null;
  for (const [, minus, phrase, word] of q.matchAll(PART)) {
    const found = [...(phrase ?? word ?? '').matchAll(WORD)].map(([text]) => fold(text));
    const last = found.at(-1);
    if (last === undefined) continue;
    beginning = minus === '' && word !== undefined && last.length >= MIN_BEGINNING ? last : null;
    if (minus === '' && word?.toLowerCase() !== 'or') for (const one of found) words.add(one);
  }
  return { words, beginning };
}

function hitsIn(word: string, { words, beginning }: Wanted): [start: number, length: number][] {
  const folded = fold(word);
  if (words.has(folded)) return [[0, word.length]];
  if (beginning !== null && !RUN.test(folded) && folded.startsWith(beginning)) return [[0, word.length]];
  if (!RUN.test(folded) || folded.length !== word.length) return [];
  const hits = [...words].flatMap((part): [number, number][] => {
    const at = folded.indexOf(part);
    return at >= 0 ? [[at, part.length]] : [];
  });
  return hits.slice(0, 1);
}

/** Case and accents do not matter. */
function fold(word: string): string {
  return word.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFKC').replaceAll('ß', 'ss');
}
