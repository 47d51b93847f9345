import { verboseJsonOf } from './transcription-response.js';

type Segments = { segments: { avg_logprob: number }[] };

describe('verboseJsonOf', () => {
  const passages = (count: number, ms: number) =>
    Array.from({ length: count }, (_, i) => ({ startMs: i * ms, endMs: (i + 1) * ms, text: 'go forward' }));
  const transcript = { text: '', language: 'english', durationSeconds: 1, confidence: 0.25 };

  it('gives a segment the mean confidence of the words whose middle it holds', () => {
    const word = (start: number, end: number, confidence: number | null) => ({ word: 'a', start, end, confidence });
    // Out of order by their middles, one on the border of two segments, one that the engine was silent about.
    const words = [word(0, 0.9, 1), word(0.1, 0.2, 0.5), word(0.8, 1.2, 0.6), word(2.1, 2.2, null)];
    const { segments } = verboseJsonOf({ ...transcript, words }, passages(3, 1000), []) as Segments;
    const expected = [(1 + 0.5 + 0.6) / 3, 0.6, 0.25].map((mean) => Number(Math.log(mean).toFixed(4)));
    expect(segments.map(({ avg_logprob: logProbability }) => logProbability)).toEqual(expected);
  });

  it('looks at each word once for all segments', () => {
    let reads = 0;
    const words = Array.from({ length: 43_000 }, (_, i) => ({
      word: 'a',
      start: i / 43_000,
      end: i / 43_000,
      get confidence() {
        reads += 1;
        return 0.5;
      },
    }));
    verboseJsonOf({ ...transcript, words }, passages(1000, 1), []);
    expect(reads).toBeLessThanOrEqual(2 * words.length);
  });
});
