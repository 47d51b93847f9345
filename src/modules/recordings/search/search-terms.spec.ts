import { hash } from 'node:crypto';
import { tokensOf } from './folding.js';
import { AccountTerms, isPair, tagTerms, textTerms } from './search-terms.js';

const ACCOUNT = '019aa5c0-5b1c-7f0e-8c53-5d0c7f1b9a10';
const MARK = Buffer.from('0c7f1b9a10', 'hex').toString('base64').slice(0, 6);
const RECORDING = { id: 'r', accountId: ACCOUNT, userId: null, customTags: null, title: null, speakerNames: null };
const terms = new AccountTerms(ACCOUNT);
const hashed = (text: string): string => `#${hash('sha256', text, 'base64')}`;

describe('the terms of an account', () => {
  it('begin with a mark of the end of its id, which is the random part', () => {
    expect(terms.word('a')).toBe(`${MARK}a`);
    expect(new AccountTerms(ACCOUNT.replace(/0$/, '1')).word('a')).toBe(`${MARK}a`);
    expect(new AccountTerms(ACCOUNT.replace('5d0c', '5d0d')).word('a')).not.toBe(`${MARK}a`);
  });

  it('are hashed when they are longer than 64 characters', () => {
    const [most, longer] = ['x'.repeat(64), 'x'.repeat(65)];
    expect([terms.word(most), terms.word(longer)]).toEqual([`${MARK}${most}`, `${MARK}${hashed(longer)}`]);
    expect(terms.tag('k', 'x'.repeat(62))).toBe(`${MARK}=k=${'x'.repeat(62)}`);
    expect(terms.tag('k', 'x'.repeat(63))).toBe(`${MARK}=${hashed(`k=${'x'.repeat(63)}`)}`);
  });

  it('are hashed also when they look like a hash, so that no end user has the term of another', () => {
    const long = 'x'.repeat(65);
    expect(terms.user(long)).toBe(`${MARK}@${hashed(long)}`);
    expect(terms.user(hashed(long))).toBe(`${MARK}@${hashed(hashed(long))}`);
  });
});

describe('the terms of a recording', () => {
  const placesOf = async (text: string, word: string): Promise<number[]> => {
    const { terms: written } = await textTerms(RECORDING, text);
    const [, places] = new RegExp(`'${MARK.replaceAll('+', '\\+')}${word}':([\\d,]+)`).exec(written) ?? [undefined, ''];
    return places === '' ? [] : places.split(',').map(Number);
  };

  it('without a text are its tags and its end user; null without tags', () => {
    expect(tagTerms({ ...RECORDING, userId: 'ada', customTags: '{"a":"b"}' })).toBe(`'${MARK}=a=b' '${MARK}@ada'`);
    expect(tagTerms({ ...RECORDING, userId: 'ada' })).toBeNull();
    expect(tagTerms({ ...RECORDING, customTags: '{}' })).toBeNull();
  });

  it.each([
    ['four five', true],
    ['four fives', false],
    ['fives four', false],
    ['四 four', false],
    ['four 四', false],
  ])('have a pair for two neighbours of at most 4 letters: %s %s', async (text, has) => {
    const [first, second] = [...tokensOf(text)] as [never, never];
    expect(isPair(first, second)).toBe(has);
    expect((await textTerms(RECORDING, text)).terms.includes(`${MARK}${text}`)).toBe(has);
  });

  it('have the names of speakers, each once', async () => {
    const speakerNames = { A: 'Ada Lovelace', B: 'Grace', C: 'Grace' };
    const { folded } = await textTerms({ ...RECORDING, title: 'Talk', speakerNames }, 'hello');
    expect(folded).toBe(' talk | ada lovelace | grace | hello ');
  });

  it('have at most 255 places of a word, and none behind 16,383', async () => {
    const often = await placesOf('again '.repeat(300), 'again');
    expect(often).toEqual(Array.from({ length: 255 }, (_, i) => i + 1));
    const many = 'other '.repeat(16_382);
    expect(await placesOf(`${many}last`, 'last')).toEqual([16_383]);
    expect(await placesOf(`${many}other last`, 'last')).toEqual([]);
  });

  it('end with the word that passes 900,000 bytes', async () => {
    const words = Array.from({ length: 60_000 }, (_, i) => `w${`${i}`.padStart(5, '0')}`);
    const { terms: written, folded } = await textTerms(RECORDING, words.join(' '));
    // 11 of the first term, and 16 of each word, with 2 for each place.
    const kept = Math.floor((900_000 - 11 - 2 * 16_383) / 16) + 1;
    expect(folded).toBe(` ${words.slice(0, kept).join(' ')} `);
    expect(written.endsWith(`'${MARK}${words[kept - 1]}'`)).toBe(true);
  });
});
