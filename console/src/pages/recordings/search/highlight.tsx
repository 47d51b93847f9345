/** As the service reads a query: a phrase in quotation marks, or anything up to the next space. */
const PART = /(-?)(?:"([^"]*)"?|([^\s"]+))/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts without spaces between words, where a part of a run is found. */
const RUN = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u;

/** A text with the words of a search marked. Never read as HTML. */
export function Highlight({ text, q }: { text: string; q: string }) {
  return (
    <>{piecesOf(text, wordsOf(q)).map(({ text: piece, isHit }, i) => (isHit ? <mark key={i}>{piece}</mark> : piece))}</>
  );
}

interface Piece {
  text: string;
  isHit: boolean;
}

function piecesOf(text: string, words: ReadonlySet<string>): Piece[] {
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
function wordsOf(q: string): Set<string> {
  const words = new Set<string>();
  for (const [, minus, phrase, word] of q.matchAll(PART)) {
    if (minus !== '' || word?.toLowerCase() === 'or') continue;
    for (const [found] of (phrase ?? word ?? '').matchAll(WORD)) words.add(fold(found));
  }
  return words;
}

function hitsIn(word: string, words: ReadonlySet<string>): [start: number, length: number][] {
  const folded = fold(word);
  if (words.has(folded)) return [[0, word.length]];
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
