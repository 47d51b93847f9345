import { readTranscript } from './openai.response.js';

const REQUESTED = { language: 'english', seconds: 10 };

function segment(changes: Record<string, unknown> = {}) {
  return { start: 0, end: 5, text: ' Hello world.', avg_logprob: -0.1, no_speech_prob: 0.01, ...changes };
}

describe('readTranscript', () => {
  it('reads a response with only a text', () => {
    expect(readTranscript({ text: ' Hello\n world. ' }, REQUESTED)).toEqual({
      text: 'Hello world.',
      confidence: null,
      language: 'english',
      words: [],
    });
  });

  it.each([[{}], [{ text: null }], [null], [undefined], [[]], ['text'], [{ error: 'failed' }]])(
    'refuses %j',
    (response) => {
      expect(() => readTranscript(response, REQUESTED)).toThrow(TypeError);
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
  ])('reads language %j as %s', (reported, language) => {
    expect(readTranscript({ text: 'Hallo', language: reported }, REQUESTED).language).toBe(language);
  });

  describe('words', () => {
    it('reads words beside the segments', () => {
      const words = [
        { word: 'Hello', start: 0.5, end: 1 },
        { word: 'world', start: 1, end: 1.6 },
      ];
      expect(readTranscript({ text: 'Hello world.', segments: [segment()], words }, REQUESTED).words).toEqual([
        { word: 'Hello', start: 0.5, end: 1, confidence: null },
        { word: 'world', start: 1, end: 1.6, confidence: null },
      ]);
    });

    it('joins the tokens that whisper.cpp lists inside segments', () => {
      const words = [
        { word: ' That', start: 0.1, end: 0.3, probability: 0.4 },
        { word: "'s", start: 0.3, end: 0.5, probability: 0.8 },
        { word: ' one', start: 0.5, end: 0.7, probability: 0.9 },
        { word: '.', start: 0.7, end: 0.7, probability: 0.99 },
      ];
      expect(readTranscript({ text: "That's one.", segments: [segment({ words })] }, REQUESTED).words).toEqual([
        { word: "That's", start: 0.1, end: 0.5, confidence: 0.4 },
        { word: 'one.', start: 0.5, end: 0.7, confidence: 0.9 },
      ]);
    });

    it('joins tokens of which some have no probability', () => {
      const tokens = [
        { word: ' That', start: 0.1, end: 0.3 },
        { word: "'s", start: 0.2, end: 0.25, probability: 0.8 },
        { word: ' on', start: 0.5, end: 0.6, probability: 0.9 },
        { word: 'e', start: 0.6, end: 0.7 },
      ];
      expect(readTranscript({ text: "That's one", segments: [segment({ words: tokens })] }, REQUESTED).words).toEqual([
        { word: "That's", start: 0.1, end: 0.3, confidence: 0.8 },
        { word: 'one', start: 0.5, end: 0.7, confidence: 0.9 },
      ]);
    });

    it.each(['probability', 'confidence', 'score'])('reads the %s of a word', (name) => {
      const words = [{ word: 'a', start: 0, end: 1, [name]: 0.25 }];
      expect(readTranscript({ text: 'a', words }, REQUESTED).words).toMatchObject([{ confidence: 0.25 }]);
    });

    it('keeps words separate in scripts without spaces', () => {
      const words = [
        { word: '你', start: 0, end: 0.2, probability: 0.9 },
        { word: '好', start: 0.2, end: 0.4, probability: 0.9 },
        { word: ' OK', start: 0.4, end: 0.6, probability: 0.9 },
        { word: '吗', start: 0.6, end: 0.7, probability: 0.9 },
      ];
      const { words: read } = readTranscript({ text: '你好 OK吗', segments: [segment({ words })] }, REQUESTED);
      expect(read.map(({ word }) => word)).toEqual(['你', '好', 'OK', '吗']);
    });

    it('gives none when tokens contain broken characters', () => {
      const words = [{ word: '\uFFFD', start: 0, end: 0.2, probability: 0.9 }];
      expect(readTranscript({ text: '好', segments: [segment({ words })] }, REQUESTED).words).toEqual([]);
    });

    it('drops malformed words and keeps times within the chunk', () => {
      const words = [
        null,
        { word: 'no times' },
        { word: 5, start: 0, end: 1 },
        { word: '  ', start: 0, end: 1 },
        { word: 'early', start: -1, end: 0.5, probability: 1.2 },
        { word: 'late', start: 9.5, end: 11 },
        { word: 'turned', start: 4, end: 3 },
      ];
      expect(readTranscript({ text: 'early late turned', words }, REQUESTED).words).toEqual([
        { word: 'early', start: 0, end: 0.5, confidence: 1 },
        { word: 'late', start: 9.5, end: 10, confidence: null },
        { word: 'turned', start: 4, end: 4, confidence: null },
      ]);
    });
  });

  describe('confidence', () => {
    it('is the mean of the words when every word has one', () => {
      const words = [
        { word: ' a', start: 0, end: 1, probability: 0.5 },
        { word: ' b', start: 1, end: 2, probability: 0.9 },
      ];
      expect(readTranscript({ text: 'a b', segments: [segment({ words })] }, REQUESTED).confidence).toBeCloseTo(0.7);
    });

    it('otherwise comes from the segments, weighted by the length of their text', () => {
      const segments = [
        segment({ text: ' abcdefgh', avg_logprob: Math.log(0.9) }),
        segment({ text: ' ab', avg_logprob: Math.log(0.4) }),
      ];
      expect(readTranscript({ text: 'abcdefgh ab', segments }, REQUESTED).confidence).toBeCloseTo(0.8);
    });

    it('comes from the tokens when there is nothing else', () => {
      const logprobs = [{ token: 'a', logprob: Math.log(0.8) }, { token: 'b', logprob: Math.log(0.6) }, { token: 'c' }];
      expect(readTranscript({ text: 'ab', logprobs }, REQUESTED).confidence).toBeCloseTo(0.7);
    });

    it('is null when the segments have none', () => {
      expect(
        readTranscript({ text: 'a', segments: [segment({ avg_logprob: null })] }, REQUESTED).confidence,
      ).toBeNull();
    });

    it('is at most 1', () => {
      expect(readTranscript({ text: 'a', segments: [segment({ avg_logprob: 0.5 })] }, REQUESTED).confidence).toBe(1);
    });
  });

  describe('silence', () => {
    const nothing = { text: '', confidence: null, language: 'english', words: [] };

    it('drops segments invented in silence, and their words', () => {
      const response = {
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
      const { text, words } = readTranscript(response, REQUESTED);
      expect(text).toBe('Hello world.');
      expect(words.map(({ word }) => word)).toEqual(['Hello']);
    });

    it('keeps segments that are only unlikely or only quiet', () => {
      const segments = [segment({ avg_logprob: -2, no_speech_prob: 0.1 }), segment({ no_speech_prob: 0.95 })];
      expect(readTranscript({ text: 'both', segments }, REQUESTED).text).toBe('both');
    });

    it.each([
      [Math.log(0.5), 0.9, 'both'],
      [-0.7, 0.6, 'both'],
      [-0.7, 0.61, ''],
    ])('of a logprob of %s and a no-speech probability of %s leaves "%s"', (avg_logprob, no_speech_prob, text) => {
      const segments = [segment({ text: 'both', avg_logprob, no_speech_prob })];
      expect(readTranscript({ text: 'both', segments }, REQUESTED).text).toBe(text);
    });

    it('drops the words of a description of sound between segments', () => {
      const segments = [segment(), segment({ start: 5, end: 6, text: '(wind blowing)' })];
      const words = [
        { word: 'Hello', start: 1, end: 2 },
        { word: 'wind', start: 5.2, end: 5.8 },
      ];
      const { text, words: left } = readTranscript({ text: 'Hello world. (wind blowing)', segments, words }, REQUESTED);
      expect([text, left.map(({ word }) => word)]).toEqual(['Hello world.', ['Hello']]);
    });

    it('is empty when everything was invented', () => {
      const segments = [segment({ text: ' Thank you.', avg_logprob: -1.2, no_speech_prob: 0.9 })];
      expect(readTranscript({ text: 'Thank you.', segments }, REQUESTED)).toEqual(nothing);
    });

    it.each(['', '  ', '[BLANK_AUDIO]', ' [ Silence ]', '(wind blowing)', '♪ ♪', '[MUSIC] [MUSIC]', '*coughs*', '...'])(
      'reads %j as silence',
      (text) => {
        expect(readTranscript({ text }, REQUESTED)).toEqual(nothing);
        expect(readTranscript({ text, segments: [segment({ text })] }, REQUESTED)).toEqual(nothing);
      },
    );

    it('keeps a description of sound inside speech', () => {
      expect(readTranscript({ text: 'He said (laughs) yes.' }, REQUESTED).text).toBe('He said (laughs) yes.');
    });
  });

  describe('repetitions', () => {
    const LOOP = Array.from({ length: 12 }, () => ' Thank you for watching.').join('');
    const words = (text: string, from: number, to: number) => {
      const each = text.trim().split(' ');
      const length = (to - from) / each.length;
      return each.map((word, i) => ({ word: ` ${word}`, start: from + i * length, end: from + (i + 1) * length }));
    };

    it('keeps the first phrase of a loop in a segment that Whisper takes for a failure', () => {
      const failed = segment({ text: ` Good evening.${LOOP} Bye.`, avg_logprob: -1.3, compression_ratio: 6 });
      const own = words(failed.text, 0, 5);
      const { text, words: left } = readTranscript({ text: failed.text, segments: [failed], words: own }, REQUESTED);
      expect(text).toBe('Good evening. Thank you for watching. Bye.');
      expect(left.map(({ word }) => word).join(' ')).toBe(text);
    });

    it('computes the compression for servers that do not tell it', () => {
      const failed = segment({ text: LOOP, avg_logprob: -1.3 });
      expect(readTranscript({ text: LOOP, segments: [failed] }, REQUESTED).text).toBe('Thank you for watching.');
    });

    it.each([
      ['that are likely', segment({ text: LOOP, avg_logprob: -0.3, compression_ratio: 6 })],
      ['that hardly repeat', segment({ text: ' no no no no no', avg_logprob: -1.3, compression_ratio: 1.1 })],
      ['without a probability', segment({ text: LOOP, avg_logprob: null, compression_ratio: 6 })],
    ])('keeps repetitions %s', (_, said) => {
      expect(readTranscript({ text: said.text, segments: [said] }, REQUESTED).text).toBe(said.text.trim());
    });

    const series = (count: number, length: (index: number) => number) =>
      Array.from({ length: count }, (_, i) => segment({ text: ' Thank you.', start: i, end: i + length(i) }));
    const textOf = (segments: { text: string }[]) => segments.map(({ text }) => text).join('');

    it('keeps one of many equal segments of equal length', () => {
      const segments = [segment({ text: ' Hello.', start: 0, end: 0.5 }), ...series(9, () => 1)];
      expect(readTranscript({ text: textOf(segments), segments }, REQUESTED).text).toBe('Hello. Thank you.');
    });

    it('keeps one of eight equal segments, the least that are a loop', () => {
      const segments = series(8, () => 1);
      expect(readTranscript({ text: textOf(segments), segments }, REQUESTED).text).toBe('Thank you.');
    });

    it('leaves a failed segment without repeats, and its words, as they are', () => {
      const failed = segment({ text: ' Bye bye.', avg_logprob: -1.3, compression_ratio: 6 });
      const own = words(failed.text, 0, 5);
      const { text, words: left } = readTranscript({ text: ' Bye  bye. ', segments: [failed], words: own }, REQUESTED);
      expect([text, left.length]).toEqual(['Bye bye.', 2]);
    });

    it.each([
      ['a compression of 2.4', segment({ text: LOOP, avg_logprob: -1.3, compression_ratio: 2.4 })],
      ['a logprob of -1', segment({ text: LOOP, avg_logprob: -1, compression_ratio: 6 })],
    ])('takes %s for no failure yet', (_, said) => {
      expect(readTranscript({ text: said.text, segments: [said] }, REQUESTED).text).toBe(said.text.trim());
    });

    it.each([
      ['of different lengths', series(9, (i) => 0.5 + (i % 3) / 10)],
      ['without times', series(9, (i) => -i)],
      ['that are fewer than eight', series(7, () => 1)],
    ])('keeps equal segments %s', (_, segments) => {
      expect(readTranscript({ text: textOf(segments), segments }, REQUESTED).text).toBe(textOf(segments).trim());
    });
  });
});
