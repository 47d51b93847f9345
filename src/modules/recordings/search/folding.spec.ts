import fc from 'fast-check';
import { fold, tokensOf } from './folding.js';

const tokens = (text: string): string[] => [...tokensOf(text)].map((token) => token.text);

describe('fold', () => {
  it.each([
    ['Café', 'cafe'],
    ['CAFE\u0301', 'cafe'],
    ['Straße', 'strasse'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['Ёлка', 'елка'],
    ['İstanbul', 'istanbul'],
    ['ısı', 'isi'],
    ['Łódź', 'lodz'],
    ['Smørrebrød', 'smorrebrod'],
    ['ﬁn', 'fin'],
    ['ＡＢＣ', 'abc'],
    ['مُحَمَّد', 'محمد'],
    ['می\u200cخواهم', 'میخواهم'],
    ['שָׁלוֹם', 'שלום'],
    ['ｶﾞ', 'ガ'],
    ['がか', 'がか'],
    ['학교', '학교'],
    ['เสื้อ', 'เสื้อ'],
    ['हिन्दी', 'हिन्दी'],
    ['co\u00adoperate', 'cooperate'],
  ])('%s is %s', (word, folded) => {
    expect(fold(word)).toBe(folded.normalize('NFKC'));
  });

  it('changes nothing of what is folded, so that a text and a query meet', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 8 }), (text) => {
        expect(tokens(tokens(text).join(' '))).toEqual(tokens(text));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('tokensOf', () => {
  it('splits at what is no letter and no digit', () => {
    expect(tokens(`Don't e-mail me: 3.14 <a@b.com> 🎉!`)).toEqual([
      'don',
      't',
      'e',
      'mail',
      'me',
      '3',
      '14',
      'a',
      'b',
      'com',
    ]);
  });

  it('keeps characters of scripts without spaces together, apart from other words', () => {
    expect([...tokensOf('iPhoneを買う、今日')].map(({ text, isRun }) => [text, isRun])).toEqual([
      ['iphone', false],
      ['を買う', true],
      ['今日', true],
    ]);
  });

  it('tells where each word stands', () => {
    const text = 'Ein Ⅷ. Ärger';
    expect([...tokensOf(text)].map(({ start, end }) => text.slice(start, end))).toEqual(['Ein', 'Ⅷ', 'Ärger']);
  });
});
