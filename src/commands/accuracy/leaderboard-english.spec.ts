import { startCpuTime } from '../../../test/support/cpu-wait.js';
import { americanSpelling } from './american-spelling.js';
import { leaderboardEnglish } from './leaderboard-english.js';

const normal = (text: string): string => leaderboardEnglish(text).join(' ');

describe('leaderboardEnglish', () => {
  it.each([
    ["he's like", 'he is like'],
    ["She's been like", 'she has been like'],
    ["they'd gone and he'd go", 'they had gone and he would go'],
    ["Let's park, won't we? Don't!", 'let us park will not we do not'],
    ['Mr. Park visited Assoc. Prof. Kim Jr.', 'mister park visited associate professor kim junior'],
    ['um, I, uh, think so. Hmm.', 'i think so'],
    ['[noise] so (laughs) yes', 'so yes'],
    ['Zoë and the café', 'zoe and the cafe'],
    ['well-known: 50 % or so', 'well known 50% or so'],
  ])('makes %j of words and sounds: %j', (text, expected) => {
    expect(normal(text)).toBe(expected);
  });

  it.each([
    ['two', '2'],
    ['one', 'one'],
    ['thirty one', '31'],
    ['five twenty four', '524'],
    ['nineteen ninety nine', '1999'],
    ['twenty nineteen', '2019'],
    ['two thousand and five', '2005'],
    ['one hundred and one', '101'],
    ['the one and only', 'the one and only'],
    ['three thousand twenty nine', '3029'],
    ['forty three thousand two hundred and sixty', '43260'],
    ['thirty three thousand and three hundred and thirty third', '33333rd'],
    ['nineteen fifties', '1950s'],
    ['july third twenty twenty', 'july 3rd 2020'],
    ['august twenty sixth twenty twenty one', 'august 26th 2021'],
    ['two thousandth', '2000th'],
    ['thirty two thousandth', '32000th'],
    ['two point five million', '2500000'],
    ['four point two billions', '4200000000s'],
    ['three and a half million', '3500000'],
    ['half a million', '500000'],
    ['an hour and a half', 'an hour and a half'],
    ['1,234', '1234'],
    ['3 14', '3 14'],
    ['3 point 14', '3.14'],
    ['fourteen point 4', '14.4'],
    ['two double o eight', '2008'],
    ['double oh seven', '007'],
    ['nine one one', '911'],
    ['one triple oh one', '10001'],
    ['minus 500', '-500'],
    ['positive twenty thousand', '+20000'],
    ['10km', '10 km'],
    ['RC232', 'rc 232'],
    ['10 th', '10th'],
  ])('writes numbers in digits: %j, %j', (text, expected) => {
    expect(normal(text)).toBe(expected);
  });

  it.each([
    ['200 thousand dollars', '$200000'],
    ['$20.1 million', '$20100000'],
    ['€52.4 million', '€52400000'],
    ['£77 thousands', '£77000s'],
    ['two point two five dollars', '$2.25'],
    ['two dollars and seventy cents', '$2.70'],
    ['three euros and sixty five cents', '€3.65'],
    ['forty eight and a half dollars', '$48.5'],
    ['3 cents', '¢3'],
    ['$0.36', '¢36'],
    ['a dollar', 'a dollar'],
    ['ninety percent', '90%'],
    ['seventy six per cent', '76%'],
  ])('writes money and shares with their sign: %j, %j', (text, expected) => {
    expect(normal(text)).toBe(expected);
  });

  it('makes the same of what is said in two ways', () => {
    const [said, heard] = [
      "I'm going to pay Dr. Smith twenty-two dollars for the grey catalogue",
      'I am gonna pay doctor Smith, uh, $22 for the gray catalog.',
    ];
    expect(normal(said)).toBe(normal(heard));
  });

  it('takes time in proportion to the text, whatever is in it', () => {
    for (const piece of ['[', '(', '<', "'", ' ', 'one ', '1 ', '1.', '$', 'and a half ', 'x1']) {
      const cpu = startCpuTime();
      leaderboardEnglish(piece.repeat(20_000));
      expect(cpu()).toBeLessThan(2_000);
    }
  });
});

describe('americanSpelling', () => {
  it.each([
    ['colour', 'color'],
    ['favourite', 'favorite'],
    ['dishonourable', 'dishonorable'],
    ['neighbours', 'neighbors'],
    ['theatre', 'theater'],
    ['kilometres', 'kilometers'],
    ['realised', 'realized'],
    ['organisation', 'organization'],
    ['mobilisation', 'mobilization'],
    ['cancelled', 'canceled'],
    ['travelling', 'traveling'],
    ['catalogue', 'catalog'],
    ['grey', 'gray'],
    ['programme', 'program'],
    ['defence', 'defense'],
  ])('of %s is %s', (british, american) => {
    expect(americanSpelling(british)).toBe(american);
  });

  it.each([
    'hour',
    'four',
    'your',
    'course',
    'advise',
    'promise',
    'exercise',
    'surprise',
    'were',
    'acre',
    'called',
    'vogue',
    'constructor',
  ])('leaves %s as it is', (word) => {
    expect(americanSpelling(word)).toBe(word);
  });
});
