import { joinTranscripts, type TranscribedChunk } from './transcript-joiner.js';

function heard(
  start: number,
  text: string,
  confidence: number | null,
  extra: Partial<TranscribedChunk['transcript']> = {},
): TranscribedChunk {
  return { start, seconds: 10, transcript: { text, confidence, language: 'english', words: [], ...extra } };
}

const word = (text: string, start: number, confidence: number | null = 0.5) => ({
  word: text,
  start,
  end: start + 0.5,
  confidence,
});

describe('joinTranscripts', () => {
  it('joins texts in order with single spaces, without the pieces in which nothing was said', () => {
    const { text } = joinTranscripts([heard(0, ' one two ', 1), heard(10, '', null), heard(20, 'three', 1)]);
    expect(text).toBe('one two three');
  });

  it('counts word times from the start of the note, in hundredths of a second', () => {
    const { words } = joinTranscripts([
      heard(0, 'one', 1, { words: [word('one', 0.1)] }),
      heard(12.34, 'two', 1, { words: [word('two', 0.3)] }),
    ]);
    expect(words).toEqual([
      { word: 'one', start: 0.1, end: 0.6, confidence: 0.5 },
      { word: 'two', start: 12.64, end: 13.14, confidence: 0.5 },
    ]);
  });

  it('weighs confidence by words', () => {
    const one = heard(0, 'one', 1, { words: [word('one', 0)] });
    const three = heard(10, 'a b c', 0.6, { words: [word('a', 0), word('b', 1), word('c', 2)] });
    expect(joinTranscripts([one, three]).confidence).toBeCloseTo(0.7);
  });

  it('weighs confidence by length where there are no words', () => {
    const pieces = [
      { ...heard(0, 'long', 0.9), seconds: 30 },
      { ...heard(30, 'short', 0.5), seconds: 10 },
    ];
    expect(joinTranscripts(pieces).confidence).toBeCloseTo(0.8);
  });

  it('takes the mean of the words where the engine gives none for the piece', () => {
    const piece = heard(0, 'a b', null, { words: [word('a', 0, 0.2), word('b', 1, 0.4)] });
    expect(joinTranscripts([piece]).confidence).toBeCloseTo(0.3);
  });

  it('is in the middle where the engine gives no confidence at all', () => {
    expect(joinTranscripts([heard(0, 'text alone', null)]).confidence).toBe(0.5);
    expect(joinTranscripts([heard(0, 'a', null, { words: [word('a', 0, null)] })]).confidence).toBe(0.5);
  });

  it('is empty, without confidence and language, where nothing was said', () => {
    expect(joinTranscripts([heard(0, ' ', 0.9)])).toEqual({ text: '', confidence: 0, language: null, words: [] });
    expect(joinTranscripts([])).toMatchObject({ text: '', confidence: 0 });
  });

  it('names the language of most of the speech', () => {
    const pieces = [
      heard(0, 'ja', 1, { language: 'german' }),
      heard(10, 'yes', 1),
      heard(20, 'yes', 1),
      heard(30, '', 1, { language: 'german' }),
      heard(40, '', 1, { language: 'german' }),
    ];
    expect(joinTranscripts(pieces).language).toBe('english');
  });
});
