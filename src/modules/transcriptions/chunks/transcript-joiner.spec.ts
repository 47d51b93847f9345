import { joinTranscripts, TextJoiner, type TranscribedChunk } from './transcript-joiner.js';

function chunkOf(
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
  it('joins texts in order with single spaces and leaves out empty chunks', () => {
    const { text } = joinTranscripts([chunkOf(0, ' one two ', 1), chunkOf(10, '', null), chunkOf(20, 'three', 1)]);
    expect(text).toBe('one two three');
  });

  it('gives word times from the start of the recording, in hundredths of a second', () => {
    const { words } = joinTranscripts([
      chunkOf(0, 'one', 1, { words: [word('one', 0.1)] }),
      chunkOf(12.34, 'two', 1, { words: [word('two', 0.3)] }),
    ]);
    expect(words).toEqual([
      { word: 'one', start: 0.1, end: 0.6, confidence: 0.5 },
      { word: 'two', start: 12.64, end: 13.14, confidence: 0.5 },
    ]);
  });

  it('weights confidence by the number of words', () => {
    const one = chunkOf(0, 'one', 1, { words: [word('one', 0)] });
    const three = chunkOf(10, 'a b c', 0.6, { words: [word('a', 0), word('b', 1), word('c', 2)] });
    expect(joinTranscripts([one, three]).confidence).toBeCloseTo(0.7);
  });

  it('weights confidence by length when there are no words', () => {
    const chunks = [
      { ...chunkOf(0, 'long', 0.9), seconds: 30 },
      { ...chunkOf(30, 'short', 0.5), seconds: 10 },
    ];
    expect(joinTranscripts(chunks).confidence).toBeCloseTo(0.8);
  });

  it('takes the mean of the words when the engine gives none for the chunk', () => {
    const chunk = chunkOf(0, 'a b', null, { words: [word('a', 0, 0.2), word('b', 1, 0.4)] });
    expect(joinTranscripts([chunk]).confidence).toBeCloseTo(0.3);
  });

  it('uses 0.5 when the engine gives no confidence at all', () => {
    expect(joinTranscripts([chunkOf(0, 'text alone', null)]).confidence).toBe(0.5);
    expect(joinTranscripts([chunkOf(0, 'a', null, { words: [word('a', 0, null)] })]).confidence).toBe(0.5);
  });

  it('is empty, with confidence 0 and no language, without speech', () => {
    expect(joinTranscripts([chunkOf(0, ' ', 0.9)])).toEqual({ text: '', confidence: 0, language: null, words: [] });
    expect(joinTranscripts([])).toMatchObject({ text: '', confidence: 0 });
  });

  it('names the language of most of the speech', () => {
    const chunks = [
      chunkOf(0, 'ja', 1, { language: 'german' }),
      chunkOf(10, 'yes', 1),
      chunkOf(20, 'yes', 1),
      chunkOf(30, '', 1, { language: 'german' }),
      chunkOf(40, '', 1, { language: 'german' }),
    ];
    expect(joinTranscripts(chunks).language).toBe('english');
  });
});

describe('the precision of a joined transcript', () => {
  it('is hundredths of a second, and ten-thousandths of a confidence', () => {
    const words = [{ word: 'a', start: 0.123, end: 0.456, confidence: 0.123_456 }];
    const { confidence, words: joined } = joinTranscripts([chunkOf(1.005, 'a', 0.123_456, { words })]);
    expect(joined).toEqual([{ word: 'a', start: 1.13, end: 1.46, confidence: 0.1235 }]);
    expect(confidence).toBe(0.1235);
  });

  it('adds up the seconds of each language', () => {
    const german = { language: 'german' };
    const chunks = [
      chunkOf(0, 'ja', 1, german),
      { ...chunkOf(10, 'yes', 1), seconds: 19.5 },
      chunkOf(30, 'ja', 1, german),
    ];
    expect(joinTranscripts(chunks).language).toBe('german');
    expect(joinTranscripts([chunkOf(0, 'ja', 1, german), { ...chunkOf(10, 'yes', 1), seconds: 10.5 }]).language).toBe(
      'english',
    );
  });
});

describe('TextJoiner', () => {
  it('gives the text of joinTranscripts piece by piece', () => {
    const chunks = [
      chunkOf(0, '', 1),
      chunkOf(1, ' one two ', 1),
      chunkOf(2, '  ', 1),
      chunkOf(3, 'drei 👍', 1),
      chunkOf(4, 'x', 1),
    ];
    const joiner = new TextJoiner();
    let text = '';
    for (const chunk of chunks) {
      const piece = joiner.add(chunk);
      if (piece) expect(piece.offset).toBe(text.length);
      text += piece?.text ?? '';
    }
    expect(text).toBe(joinTranscripts(chunks).text);
  });
});
