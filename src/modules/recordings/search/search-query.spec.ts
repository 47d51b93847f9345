import { indexQuery, parseQuery, phraseConditions, rankQuery } from './search-query.js';
import { AccountTerms, textTerms } from './search-terms.js';

const ACCOUNT = '019aa5c0-4a7e-7cc4-9d5e-000000000000';
const terms = new AccountTerms(ACCOUNT);
/** Without the mark of the account. */
const plain = (text: string | null): string | null => text && text.replaceAll("'AAAAAA", "'");

const indexed = (q: string): string | null => plain(indexQuery(parseQuery(q), terms));

describe('parseQuery', () => {
  it.each([
    ['red apples', [['red', 'apples']]],
    ['red or green apples', [['red'], ['green', 'apples']]],
    ['"red apples" -pears', [['red apples', '-pears']]],
    ['-"red apples"', [['-red apples']]],
    ['e-mail', [['e mail']]],
    ['or', [['or']]],
    ['or red or', [['or', 'red', 'or']]],
    ['"or" red', [['or', 'red']]],
    ['red OR -green', [['red'], ['-green']]],
    ['red & ! green', [['red', 'green']]],
    ['"red apples', [['red apples']]],
    ['- red', [['red']]],
  ])('reads %s', (q, expected) => {
    const read = parseQuery(q).map((phrases) =>
      phrases.map(({ tokens, isNegative }) => `${isNegative ? '-' : ''}${tokens.map(({ text }) => text).join(' ')}`),
    );
    expect(read).toEqual(expected);
  });

  it.each(['', '" "', '- -', '& | !', '🎉'])('refuses %j, which has nothing to look for', (q) => {
    expect(() => parseQuery(q)).toThrow('q must contain a letter or a digit.');
  });

  it('takes at most 50 words', () => {
    expect(parseQuery('a '.repeat(50))[0]).toHaveLength(50);
    expect(() => parseQuery('a '.repeat(51))).toThrow('q must have at most 50 words.');
  });
});

describe('indexQuery', () => {
  it.each([
    ['red apples', `('red' & 'apples':*)`],
    ['red "apples"', `('red' & 'apples')`],
    ['apples or pe', `('apples') | ('pe')`],
    ['apples or pear', `('apples') | ('pear':*)`],
    ['apples -pear', `('apples' & !('pear'))`],
    ['to be-ta', `('to' & 'be' & 'ta' & 'be ta')`],
    ['e-mail', `('e' & 'mail':*)`],
    ['red or -apples', `('red') | ('*' & !('apples'))`],
    ['"red apples"', `('red' & 'apples')`],
    ['"to be"', `('to' & 'be' & 'to be')`],
    ['red -"green apples"', `('red')`],
    ['東京都', `('東京' & '京都')`],
    ['東', `('東')`],
    [`it's`, `('it' & 's' & 'it s')`],
  ])('of %s is %s', (q, expected) => {
    expect(indexed(q)).toBe(expected);
  });

  it('leaves nothing to compare where the terms tell all', () => {
    for (const q of ['red -apples', '"to be"', '東京', '-東']) expect(phraseConditions(parseQuery(q))).toBeNull();
    expect(phraseConditions(parseQuery('"red apples" -東京都'))).toEqual([
      [
        { pattern: ' red apples ', isNegative: false },
        { pattern: '東京都', isNegative: true },
      ],
    ]);
  });

  it('compares the beginning of a word at the end of a phrase', () => {
    const ofPhrase = (q: string) => phraseConditions(parseQuery(q))?.[0]?.map(({ pattern }) => pattern);
    expect(ofPhrase('e-mai')).toEqual([' e mai']);
    expect(ofPhrase('"the garden"')).toEqual([' the garden ']);
    expect(ofPhrase('the-garden now')).toEqual([' the garden ', ' now']);
  });

  it('leaves a run of one or two characters to the index alone', () => {
    for (const run of ['東', '東京', '-東京']) expect(phraseConditions(parseQuery(run))).toBeNull();
    expect(phraseConditions(parseQuery('東京都'))).not.toBeNull();
  });

  it('ranks by the words that are looked for', () => {
    expect(plain(rankQuery(parseQuery('red "to be" -green or pear'), terms))).toBe(
      `('red' & 'to' & 'be') | ('pear':*)`,
    );
    expect(rankQuery(parseQuery('-green'), terms)).toBeNull();
  });
});

describe('textTerms', () => {
  const recording = {
    id: 'r',
    accountId: ACCOUNT,
    userId: `o'neil\\`,
    customTags: '{"ticket":"T-1","__proto__":"x"}',
    title: 'A Café',
    speakerNames: null,
  };

  it('is as before for a recording without a title and tags', async () => {
    const written = await textTerms({ ...recording, title: null, customTags: '{}' }, 'To be, THIRD');
    expect(plain(written.terms)).toBe(`'@o''neil\\\\' '*' 'to':1 'be':2 'to be' 'third':3`);
    expect(written.folded).toBe(' to be third ');
  });

  it('holds tags, the end user, words with their places, and pairs of short words', async () => {
    const written = await textTerms(recording, 'To be, THIRD');
    expect(plain(written.terms)).toBe(
      `'=ticket=T-1' '=__proto__=x' '@o''neil\\\\' '*' '+' 'a':1A 'cafe':2A 'a cafe' 't':3A '1':4A 't 1' 'x':5A ` +
        `'to':6 'be':7 'to be' 'third':8`,
    );
    expect(written.folded).toBe(' a cafe | t 1 | x | to be third ');
  });

  it('keeps within what Postgres takes, whatever the text', async () => {
    const different = Array.from({ length: 200_000 }, (_, i) => `wort${i}`).join(' ');
    const run = String.fromCodePoint(...Array.from({ length: 20_000 }, (_, i) => 0x4e00 + i)).repeat(20);
    for (const text of [different, run, 'a '.repeat(300_000), 'x'.repeat(1_000_000)]) {
      expect(Buffer.byteLength((await textTerms(recording, text)).terms)).toBeLessThan(1_300_000);
    }
  });
});
