import fc from 'fast-check';
import { startCpuTime } from '../../../test/support/cpu-wait.js';
import { alignWords, comparedUnits, countErrors, errorsIn, unitNameOf } from './word-errors.js';

const list = (text: string): string[] => text.split(' ').filter(Boolean);
const counts = (said: string, heard: string) => countErrors(alignWords(list(said), list(heard)));

/** The textbook table, for comparison. */
function distance(a: readonly string[], b: readonly string[]): number {
  let row = b.map((_, index) => index + 1);
  a.forEach((word, i) => {
    let [diagonal, left] = [i, i + 1];
    row = row.map((above, j) => {
      left = Math.min(above + 1, left + 1, diagonal + (b[j] === word ? 0 : 1));
      diagonal = above;
      return left;
    });
  });
  return row.at(-1) ?? a.length;
}

describe('alignWords', () => {
  it.each([
    ['a b c', 'a b c', { units: 3, substitutions: 0, deletions: 0, insertions: 0 }],
    ['a b c', 'a x c', { units: 3, substitutions: 1, deletions: 0, insertions: 0 }],
    ['a b c', 'a c', { units: 3, substitutions: 0, deletions: 1, insertions: 0 }],
    ['a c', 'a b c', { units: 2, substitutions: 0, deletions: 0, insertions: 1 }],
    ['a b c d', 'b x d e', { units: 4, substitutions: 1, deletions: 1, insertions: 1 }],
    ['', 'a b', { units: 0, substitutions: 0, deletions: 0, insertions: 2 }],
    ['a b', '', { units: 2, substitutions: 0, deletions: 2, insertions: 0 }],
  ])('of %j and %j', (said, heard, expected) => {
    expect(counts(said, heard)).toEqual(expected);
  });

  it('says which unit became which, in order', () => {
    expect(alignWords(list('go forward ten meters'), list('go for ten ten meters'))).toEqual([
      { said: 0, heard: 0, kind: 'correct' },
      { said: -1, heard: 1, kind: 'insertion' },
      { said: 1, heard: 2, kind: 'substitution' },
      { said: 2, heard: 3, kind: 'correct' },
      { said: 3, heard: 4, kind: 'correct' },
    ]);
  });

  it('has the fewest errors, names each unit once, and calls equal units correct', () => {
    const words = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 });
    fc.assert(
      fc.property(words, words, (said, heard) => {
        const edits = alignWords(said, heard);
        expect(errorsIn(countErrors(edits))).toBe(distance(said, heard));
        expect(edits.flatMap((edit) => (edit.said < 0 ? [] : edit.said))).toEqual([...said.keys()]);
        expect(edits.flatMap((edit) => (edit.heard < 0 ? [] : edit.heard))).toEqual([...heard.keys()]);
        for (const edit of edits) expect(said[edit.said] === heard[edit.heard]).toBe(edit.kind === 'correct');
      }),
    );
  });

  it('has the fewest errors where the table is cut in halves', () => {
    const said = Array.from({ length: 3000 }, (_, i) => `w${(i * i) % 97}`);
    const heard = said.flatMap((word, i) =>
      i % 9 === 4 ? [] : i % 11 === 5 ? [word, 'x'] : i % 7 === 3 ? ['y'] : [word],
    );
    expect(errorsIn(countErrors(alignWords(said, heard)))).toBe(distance(said, heard));
  });

  it('aligns the words of half an hour of speech in a bounded time', () => {
    const said = Array.from({ length: 5000 }, (_, i) => `w${(i * 7919) % 1009}`);
    const heard = said.map((word, i) => (i % 4 === 1 ? 'x' : word));
    const cpuMs = startCpuTime();
    expect(countErrors(alignWords(said, heard))).toMatchObject({ substitutions: 1250 });
    expect(cpuMs()).toBeLessThan(3000);
  });
});

const english = (text: string): string => comparedUnits(text, 'english').join(' ');

describe('comparedUnits', () => {
  it.each([
    ['Well — HELLO, “World”!', 'well hello world'],
    ['It’s don`t', "it's don't"],
    ["'quoted' rock 'n' roll", 'quoted rock n roll'],
    ['ill-disposed', 'ill disposed'],
    ['Ｈｅｌｌｏ ﬁne', 'hello fine'],
    ['', ''],
    ['… !', ''],
  ])('of %j are %j', (text, units) => {
    expect(english(text)).toBe(units);
  });

  it.each([
    ['in 1813', 'in eighteen thirteen'],
    ['in 1805 and 1900', 'in eighteen oh five and nineteen hundred'],
    ['2026', 'two thousand twenty six'],
    ['10 meters', 'ten meters'],
    ['1,234,567', 'one million two hundred thirty four thousand five hundred sixty seven'],
    ['3.14', 'three point one four'],
    ['the 1st, 22nd and 30th', 'the first twenty second and thirtieth'],
    ['the 12th of 100th', 'the twelfth of one hundredth'],
    ['007', 'zero zero seven'],
    ['0', 'zero'],
    ['$5 & 50%', 'five dollars and fifty percent'],
    ['Mr. Quilter and Dr. No', 'mister quilter and doctor no'],
    ['mp3 b2b', 'mp3 b2b'],
  ])('of the English %j are those that are spoken: %j', (text, units) => {
    expect(english(text)).toBe(units);
  });

  it('leave the numbers of other languages as they are', () => {
    expect(comparedUnits('Um 10 Uhr, 3,5 %', 'german')).toEqual(['um', '10', 'uhr', '3', '5']);
  });

  it.each([
    ['Él, está', ['él', 'está']],
    ['E\u0301l', ['él']],
    ['مَرْحَبًا', ['مرحبا']],
    ['नमस्ते दुनिया।', ['नमस्ते', 'दुनिया']],
    ['今日は、良い天気。', ['今', '日', 'は', '良', 'い', '天', '気']],
    ['สวัสดี', ['ส', 'วั', 'ส', 'ดี']],
  ])('of %j are %j', (text, units) => {
    expect(comparedUnits(text, null)).toEqual(units);
  });
});

describe('unitNameOf', () => {
  it('counts characters in scripts without spaces', () => {
    expect(unitNameOf(comparedUnits('今日は iPhone', null))).toBe('character');
    expect(unitNameOf(comparedUnits('the 中 sign of words', null))).toBe('word');
    expect(unitNameOf([])).toBe('word');
  });
});
