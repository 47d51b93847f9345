import { readAnswer } from './openai.answer.js';

const ASKED = { language: 'english', seconds: 10 };

function segment(changes: Record<string, unknown> = {}) {
  return { start: 0, end: 5, text: ' Hello world.', avg_logprob: -0.1, no_speech_prob: 0.01, ...changes };
}

describe('readAnswer', () => {
  it('takes an answer with only a text', () => {
    expect(readAnswer({ text: ' Hello\n world. ' }, ASKED)).toEqual({
      text: 'Hello world.',
      confidence: null,
      language: 'english',
      words: [],
    });
  });

  it.each([[{}], [{ text: null }], [null], [undefined], [[]], ['text'], [{ error: 'failed' }]])(
    'refuses %j',
    (answer) => {
      expect(() => readAnswer(answer, ASKED)).toThrow(TypeError);
    },
  );

  it.each([
    ['german', 'german'],
    ['de', 'german'],
    ['German', 'german'],
    ['mandarin', 'chinese'],
    ['haitian creole', 'haitian creole'],
    ['elvish', 'english'],
    [null, 'english'],
    [undefined, 'english'],
  ])('language %j is %s', (said, language) => {
    expect(readAnswer({ text: 'Hallo', language: said }, ASKED).language).toBe(language);
  });

  describe('words', () => {
    it('takes those beside the segments', () => {
      const words = [
        { word: 'Hello', start: 0.5, end: 1 },
        { word: 'world', start: 1, end: 1.6 },
      ];
      expect(readAnswer({ text: 'Hello world.', segments: [segment()], words }, ASKED).words).toEqual([
        { word: 'Hello', start: 0.5, end: 1, confidence: null },
        { word: 'world', start: 1, end: 1.6, confidence: null },
      ]);
    });

    it('joins the tokens that whisper.cpp gives within segments', () => {
      const words = [
        { word: ' That', start: 0.1, end: 0.3, probability: 0.4 },
        { word: "'s", start: 0.3, end: 0.5, probability: 0.8 },
        { word: ' one', start: 0.5, end: 0.7, probability: 0.9 },
        { word: '.', start: 0.7, end: 0.7, probability: 0.99 },
      ];
      expect(readAnswer({ text: "That's one.", segments: [segment({ words })] }, ASKED).words).toEqual([
        { word: "That's", start: 0.1, end: 0.5, confidence: 0.4 },
        { word: 'one.', start: 0.5, end: 0.7, confidence: 0.9 },
      ]);
    });

    it('leaves words apart in languages that write none', () => {
      const words = [
        { word: '你', start: 0, end: 0.2, probability: 0.9 },
        { word: '好', start: 0.2, end: 0.4, probability: 0.9 },
        { word: ' OK', start: 0.4, end: 0.6, probability: 0.9 },
        { word: '吗', start: 0.6, end: 0.7, probability: 0.9 },
      ];
      const { words: read } = readAnswer({ text: '你好 OK吗', segments: [segment({ words })] }, ASKED);
      expect(read.map(({ word }) => word)).toEqual(['你', '好', 'OK', '吗']);
    });

    it('gives none where tokens hold broken characters', () => {
      const words = [{ word: '\uFFFD', start: 0, end: 0.2, probability: 0.9 }];
      expect(readAnswer({ text: '好', segments: [segment({ words })] }, ASKED).words).toEqual([]);
    });

    it('drops what is malformed and keeps times within the piece', () => {
      const words = [
        null,
        { word: 'no times' },
        { word: 5, start: 0, end: 1 },
        { word: '  ', start: 0, end: 1 },
        { word: 'early', start: -1, end: 0.5, probability: 1.2 },
        { word: 'late', start: 9.5, end: 11 },
        { word: 'turned', start: 4, end: 3 },
      ];
      expect(readAnswer({ text: 'early late turned', words }, ASKED).words).toEqual([
        { word: 'early', start: 0, end: 0.5, confidence: 1 },
        { word: 'late', start: 9.5, end: 10, confidence: null },
        { word: 'turned', start: 4, end: 4, confidence: null },
      ]);
    });
  });

  describe('confidence', () => {
    it('is the mean of the words where every word has one', () => {
      const words = [
        { word: ' a', start: 0, end: 1, probability: 0.5 },
        { word: ' b', start: 1, end: 2, probability: 0.9 },
      ];
      expect(readAnswer({ text: 'a b', segments: [segment({ words })] }, ASKED).confidence).toBeCloseTo(0.7);
    });

    it('comes from the segments by the length of their text otherwise', () => {
      const segments = [
        segment({ text: ' abcdefgh', avg_logprob: Math.log(0.9) }),
        segment({ text: ' ab', avg_logprob: Math.log(0.4) }),
      ];
      expect(readAnswer({ text: 'abcdefgh ab', segments }, ASKED).confidence).toBeCloseTo(0.8);
    });

    it('comes from the tokens where there is nothing else', () => {
      const logprobs = [{ token: 'a', logprob: Math.log(0.8) }, { token: 'b', logprob: Math.log(0.6) }, { token: 'c' }];
      expect(readAnswer({ text: 'ab', logprobs }, ASKED).confidence).toBeCloseTo(0.7);
    });

    it('is null where segments tell none', () => {
      expect(readAnswer({ text: 'a', segments: [segment({ avg_logprob: null })] }, ASKED).confidence).toBeNull();
    });

    it('never passes 1', () => {
      expect(readAnswer({ text: 'a', segments: [segment({ avg_logprob: 0.5 })] }, ASKED).confidence).toBe(1);
    });
  });

  describe('silence', () => {
    const nothing = { text: '', confidence: null, language: 'english', words: [] };

    it('drops what was made up in silence, and its words', () => {
      const answer = {
        text: ' Hello world. Thank you.',
        segments: [
          segment({ start: 0, end: 5 }),
          segment({ start: 5, end: 9, text: ' Thank you.', avg_logprob: -0.9, no_speech_prob: 0.8 }),
        ],
        words: [
          { word: 'Hello', start: 1, end: 2 },
          { word: 'Thank', start: 6, end: 7 },
        ],
      };
      const { text, words } = readAnswer(answer, ASKED);
      expect(text).toBe('Hello world.');
      expect(words.map(({ word }) => word)).toEqual(['Hello']);
    });

    it('keeps what is only unsure or only quiet', () => {
      const segments = [segment({ avg_logprob: -2, no_speech_prob: 0.1 }), segment({ no_speech_prob: 0.95 })];
      expect(readAnswer({ text: 'both', segments }, ASKED).text).toBe('both');
    });

    it('says nothing where everything was made up', () => {
      const segments = [segment({ text: ' Thank you.', avg_logprob: -1.2, no_speech_prob: 0.9 })];
      expect(readAnswer({ text: 'Thank you.', segments }, ASKED)).toEqual(nothing);
    });

    it.each(['', '  ', '[BLANK_AUDIO]', ' [ Silence ]', '(wind blowing)', '♪ ♪', '[MUSIC] [MUSIC]', '*coughs*', '...'])(
      'takes %j for silence',
      (text) => {
        expect(readAnswer({ text }, ASKED)).toEqual(nothing);
        expect(readAnswer({ text, segments: [segment({ text })] }, ASKED)).toEqual(nothing);
      },
    );

    it('keeps a remark within speech', () => {
      expect(readAnswer({ text: 'He said (laughs) yes.' }, ASKED).text).toBe('He said (laughs) yes.');
    });
  });
});
