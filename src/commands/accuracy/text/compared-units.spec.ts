import { comparedUnits, unitNameOf } from './compared-units.js';

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
