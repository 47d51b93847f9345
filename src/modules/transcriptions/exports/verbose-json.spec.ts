import { mainThreadCpuTime } from '../../../../test/support/cpu-wait.js';
import { logprobsOf, verboseJsonOf } from './verbose-json.js';

interface Verbose {
  segments: { start: number; end: number; avg_logprob: number }[];
}

describe('logprobsOf', () => {
  it('has a token for each word, and the certainty of the recording where a word has none', () => {
    const at = { start: 0, end: 1 };
    const words = JSON.stringify([
      { word: 'Zoë', ...at, confidence: 0.5 },
      { word: 'is', ...at, confidence: null },
      { word: 'in.', ...at, confidence: 0 },
    ]);
    expect(JSON.parse(logprobsOf({ text: 'Zoë is in.', words, confidence: 1 }))).toEqual([
      { token: 'Zoë', logprob: -0.6931, bytes: [90, 111, 195, 171] },
      { token: ' is', logprob: 0, bytes: [32, 105, 115] },
      { token: ' in.', logprob: -9.2103, bytes: [32, 105, 110, 46] },
    ]);
    expect(logprobsOf({ text: 'a', words: '[]', confidence: 1 })).toBe('[]');
  });
});

describe('verboseJsonOf', () => {
  const transcript = {
    task: 'transcribe' as const,
    language: 'english',
    durationSeconds: 4,
    confidence: 0.25,
    withSegments: true,
    withWords: false,
    usage: {},
  };

  it('gives a segment the mean confidence of the words whose middle it holds', () => {
    const word = (text: string, start: number, end: number, confidence: number | null) => ({
      word: text,
      start,
      end,
      confidence,
    });
    // Out of order by their middles, one that the engine was silent about, and a long pause before the last.
    const words = JSON.stringify([
      word('a', 0, 0.9, 1),
      word('b', 0.1, 0.2, 0.5),
      word('c', 0.8, 0.9, null),
      word('d.', 3, 3.4, 0.6),
    ]);
    const { segments } = JSON.parse(verboseJsonOf({ ...transcript, text: 'a b c d.', words })) as Verbose;
    expect(segments).toHaveLength(2);
    expect(segments.map(({ avg_logprob: logProbability }) => logProbability)).toEqual(
      [0.75, 0.6].map((mean) => Number(Math.log(mean).toFixed(4))),
    );
  });

  it('gives a segment without known words the confidence of the recording', () => {
    const { segments } = JSON.parse(verboseJsonOf({ ...transcript, text: 'a b', words: '[]' })) as Verbose;
    expect(segments.map(({ avg_logprob: logProbability }) => logProbability)).toEqual([
      Number(Math.log(0.25).toFixed(4)),
    ]);
  });

  it('takes a time that grows with the number of words', () => {
    const cpuMsFor = (count: number): number => {
      const list = Array.from({ length: count }, (_, i) => ({ word: 'a', start: i / 9, end: i / 9, confidence: 0.5 }));
      const input = {
        ...transcript,
        durationSeconds: count / 9,
        text: 'a '.repeat(count),
        words: JSON.stringify(list),
      };
      // Of this thread: compilers and collectors of garbage have others.
      const before = mainThreadCpuTime();
      verboseJsonOf(input);
      return mainThreadCpuTime() - before;
    };
    cpuMsFor(10_000);
    // A neighbour that takes the cache disturbs one of them, not all.
    const ratios = [1, 2, 3, 4, 5].map(() => cpuMsFor(40_000) / Math.max(20, cpuMsFor(4000)));
    // Of all words for each segment it would be 100 times as much.
    expect(Math.min(...ratios)).toBeLessThan(16);
  });
});
