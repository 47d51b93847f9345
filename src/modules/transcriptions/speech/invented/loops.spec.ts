import { startCpuTime } from '../../../../../test/support/cpu-wait.js';
import { findLoops, withoutRepeats } from './loops.js';

const words = (text: string): string[] => text.split(' ');

describe('findLoops', () => {
  it.each([
    ['one word', 'no no no no no', { start: 0, phrase: 1, end: 5 }],
    [
      'a phrase, whatever its case and punctuation',
      'So thank you. Thank you, thank you thank you THANK YOU!',
      { start: 1, phrase: 2, end: 11 },
    ],
    ['whole repeats only', 'thank you thank you thank you thank you thank you thank', { start: 0, phrase: 2, end: 10 }],
  ])('finds the loop of %s', (_, text, loop) => {
    expect(findLoops(words(text))).toEqual([loop]);
  });

  it.each(['', 'a b c d e f', 'no no no no', 'row row row your boat', 'one two one two one two one two'])(
    'finds none in %j',
    (text) => {
      expect(findLoops(words(text))).toEqual([]);
    },
  );

  it('finds several', () => {
    expect(findLoops(words('a a a a a b c c c c c c'))).toHaveLength(2);
  });

  it('takes little time for long texts', () => {
    const cpuMs = startCpuTime();
    findLoops(Array.from({ length: 20_000 }, (_, index) => `${index % 11}${index % 7}`));
    expect(cpuMs()).toBeLessThan(1000);
  });
});

describe('withoutRepeats', () => {
  it('keeps the first of each phrase and everything else', () => {
    expect(withoutRepeats('And then, thank you. Thank you. Thank you. Thank you. Thank you. Bye')).toBe(
      'And then, thank you. Bye',
    );
  });
});
