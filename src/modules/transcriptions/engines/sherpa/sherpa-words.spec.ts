import { readResult, type SherpaResult, wordsOf } from './sherpa-words.js';

const SPEECH = [{ start: 0.5, end: 4.5 }];

const result = (fields: Partial<SherpaResult>): SherpaResult => ({
  text: '',
  lang: '',
  tokens: [],
  timestamps: [],
  durations: [],
  ys_log_probs: [],
  ...fields,
});

/** `word start–end confidence`, rounded. */
const lines = (fields: Partial<SherpaResult>, speech = SPEECH): string[] =>
  wordsOf(result(fields), speech).map(
    ({ word, start, end, confidence }) =>
      `${word} ${start.toFixed(2)}–${end.toFixed(2)} ${confidence === null ? '?' : confidence.toFixed(2)}`,
  );

describe('wordsOf', () => {
  it('joins pieces of words, with the time of the first and the mean probability', () => {
    const words = lines({
      text: 'go forward ten meters',
      tokens: [' go', ' for', 'ward', '▁ten', '▁met', 'ers'],
      timestamps: [0.2, 0.6, 0.8, 1.2, 1.6, 1.8],
      ys_log_probs: [0, Math.log(0.9), Math.log(0.4), Math.log(0.5), -0.1, -0.3],
    });
    expect(words).toEqual([
      'go 0.20–0.60 1.00',
      'forward 0.60–1.20 0.60',
      'ten 1.20–1.60 0.50',
      'meters 1.60–2.20 0.82',
    ]);
  });

  it('ends a word before a pause, and where the model says', () => {
    expect(lines({ text: 'a b', tokens: ['a', ' b'], timestamps: [0, 3] })).toEqual(['a 0.00–0.40 ?', 'b 3.00–3.40 ?']);
    const fields = { text: 'a b', tokens: ['a', ' b'], timestamps: [0, 3], durations: [0.2, 1] };
    expect(lines(fields)).toEqual(['a 0.00–0.20 ?', 'b 3.00–4.00 ?']);
  });

  it('gives no confidence when the model reports none', () => {
    expect(wordsOf(result({ text: 'a', tokens: ['a'], timestamps: [1] }), SPEECH)[0]?.confidence).toBeNull();
  });

  it('finds words of a script without spaces', () => {
    const text = '今天天气很好';
    const tokens = [...text];
    const timestamps = tokens.map((_, index) => index / 2);
    expect(lines({ text, tokens, timestamps })).toEqual(['今天 0.00–0.90 ?', '天气 1.00–1.90 ?', '很好 2.00–2.90 ?']);
  });

  it('finds its way when tokens are parts of characters', () => {
    const words = lines({
      text: ' naïve café ok',
      tokens: [' na', '<0xC3>', '<0xAF>', 've', ' caf', '\ufffd', ' ok'],
      timestamps: [0, 0.1, 0.1, 0.2, 1, 1.2, 2],
    });
    expect(words).toEqual(['naïve 0.00–0.60 ?', 'café 1.00–1.60 ?', 'ok 2.00–2.40 ?']);
  });

  it('understands the continuation marks of Paraformer', () => {
    const fields = { text: 'hello 你好', tokens: ['hel@@', 'lo', '你', '好'], timestamps: [0, 0.2, 1, 1.2] };
    expect(lines(fields)).toEqual(['hello 0.00–0.60 ?', '你好 1.00–1.60 ?']);
  });

  it('keeps punctuation with its word', () => {
    const fields = {
      text: 'Hello, world.',
      tokens: [' Hello', ',', ' world', '.'],
      timestamps: [0, 0.4, 0.6, 1],
    };
    expect(lines(fields)).toEqual(['Hello, 0.00–0.60 ?', 'world. 0.60–1.40 ?']);
  });

  it('spreads words over the speech when there are no times', () => {
    expect(lines({ text: 'ab cdef gh', tokens: ['ab', 'cdef', 'gh'] })).toEqual([
      'ab 0.50–1.50 ?',
      'cdef 1.50–3.50 ?',
      'gh 3.50–4.50 ?',
    ]);
  });

  it('spreads no word into a pause', () => {
    const speech = [
      { start: 1, end: 2 },
      { start: 10, end: 13 },
    ];
    expect(lines({ text: 'abcd efgh ijkl mnop' }, speech)).toEqual([
      'abcd 1.00–2.00 ?',
      'efgh 10.00–11.00 ?',
      'ijkl 11.00–12.00 ?',
      'mnop 12.00–13.00 ?',
    ]);
  });

  it('spreads words over the speech within the segments that the model reports', () => {
    const fields = {
      text: ' one two three',
      segment_texts: [' one two', ' three'],
      segment_timestamps: [0, 6],
      segment_durations: [6, 10],
    };
    const speech = [
      { start: 1, end: 3 },
      { start: 8, end: 9 },
    ];
    expect(lines(fields, speech)).toEqual(['one 1.00–2.00 ?', 'two 2.00–3.00 ?', 'three 8.00–9.00 ?']);
  });

  it('spreads words over segments without other knowledge', () => {
    const fields = {
      text: ' one two three',
      segment_texts: [' one two', ' three'],
      segment_timestamps: [0, 10],
      segment_durations: [2, 1],
    };
    expect(lines(fields, [{ start: 0, end: 12 }])).toEqual([
      'one 0.00–1.00 ?',
      'two 1.00–2.00 ?',
      'three 10.00–11.00 ?',
    ]);
  });

  it.each<[string, Partial<SherpaResult>, string[]]>([
    ['a single token', { text: 'a', tokens: ['a'], timestamps: [1] }, ['a 1.00–1.40 ?']],
    [
      'words at the same time, which last 0.02 s',
      { text: 'a b', tokens: ['a', ' b'], timestamps: [1, 1] },
      ['a 1.00–1.02 ?', 'b 1.00–1.40 ?'],
    ],
    [
      'a last word that the model makes longer than the speech',
      { text: 'a', tokens: ['a'], timestamps: [4], durations: [2] },
      ['a 4.00–4.50 ?'],
    ],
    [
      'a last word after the end of the speech',
      { text: 'ab', tokens: ['a', 'b'], timestamps: [6, 7], durations: [1, 1] },
      ['ab 6.00–7.02 ?'],
    ],
    [
      'capitals in the text',
      { text: 'GO NOW', tokens: ['go', ' now'], timestamps: [0, 1] },
      ['GO 0.00–0.40 ?', 'NOW 1.00–1.40 ?'],
    ],
    [
      'capitals in the tokens',
      { text: 'go now', tokens: ['GO', ' NOW'], timestamps: [0, 1] },
      ['go 0.00–0.40 ?', 'now 1.00–1.40 ?'],
    ],
    [
      'several words in a token',
      { text: 'new york new', tokens: ['▁new▁york', '▁new'], timestamps: [0, 3] },
      ['new 0.00–0.40 ?', 'york 0.00–3.00 ?', 'new 3.00–3.40 ?'],
    ],
    [
      'a continuation mark before the same letter',
      { text: 'aa a', tokens: ['a@@', 'a', 'a'], timestamps: [0, 1, 3] },
      ['aa 0.00–1.40 ?', 'a 3.00–3.40 ?'],
    ],
    [
      'tokens after the last letter',
      { text: 'a b', tokens: ['a', ' b', 'q'], timestamps: [0, 1, 1.3] },
      ['a 0.00–0.40 ?', 'b 1.00–1.70 ?'],
    ],
    ['a probability above 1', { text: 'a', tokens: ['a'], timestamps: [1], ys_log_probs: [0.1] }, ['a 1.00–1.40 1.00']],
    [
      '24 characters without a readable token',
      { text: `${'x'.repeat(24)} z`, tokens: ['<0xe4>', ' z'], timestamps: [0, 2] },
      [`${'x'.repeat(24)} 0.00–0.40 ?`, 'z 2.00–2.40 ?'],
    ],
    [
      'a token that is found too far on',
      { text: `${'x'.repeat(25)} z`, tokens: ['<0xe4>', ' z'], timestamps: [0, 2] },
      [`${'x'.repeat(25)} 0.00–2.40 ?`, 'z 0.00–4.50 ?'],
    ],
  ])('gives times to %s', (_, fields, expected) => {
    expect(lines(fields)).toEqual(expected);
  });

  it('takes the end of the last section of speech for the end of the last word', () => {
    const speech = [
      { start: 0, end: 1 },
      { start: 3, end: 3.6 },
    ];
    const fields = { text: 'a', tokens: ['a'], timestamps: [3], durations: [5] };
    expect(lines(fields, speech)).toEqual(['a 3.00–3.60 ?']);
  });

  const segmented = (...segments: [text: string, start: number, seconds: number][]): Partial<SherpaResult> => ({
    text: segments.map(([text]) => text).join(' '),
    segment_texts: segments.map(([text]) => text),
    segment_timestamps: segments.map(([, start]) => start),
    segment_durations: segments.map(([, , seconds]) => seconds),
  });

  it.each<[string, Partial<SherpaResult>, string[]]>([
    ['a segment without speech', segmented(['ab', 1, 2], ['cd', 20, 4]), ['ab 1.00–3.00 ?', 'cd 20.00–24.00 ?']],
    ['a segment that only touches speech', segmented(['ab', 4.5, 1.5]), ['ab 4.50–6.00 ?']],
    [
      'three segments of different lengths',
      segmented(['a', 0.5, 1], ['bc def', 1.5, 1], ['g', 2.5, 2]),
      ['a 0.50–1.50 ?', 'bc 1.50–1.90 ?', 'def 1.90–2.50 ?', 'g 2.50–4.50 ?'],
    ],
    ['segments that go back', segmented(['ab', 10, 2], ['cd', 1, 2]), ['ab 10.00–12.00 ?', 'cd 10.00–10.02 ?']],
    [
      'segments that are not the whole text',
      { ...segmented(['ab', 2, 1]), text: 'ab cd' },
      ['ab 0.50–2.50 ?', 'cd 2.50–4.50 ?'],
    ],
  ])('spreads words over %s', (_, fields, expected) => {
    expect(lines(fields)).toEqual(expected);
  });

  it('gives every word a time, in order, whatever the tokens say', () => {
    const texts = ['', 'a', 'a b c', 'the quick brown fox', '今天 ok', '...'];
    const tokens = [[], ['x'], ['▁a', 'zz', '<0x00>', 'b', 'c', 'c', 'c'], ['\ufffd', '\ufffd']];
    for (const text of texts) {
      for (const list of tokens) {
        const words = wordsOf(result({ text, tokens: list, timestamps: list.map((_, i) => (i * 7) % 4) }), SPEECH);
        let before = 0;
        for (const { start, end } of words) {
          expect(start).toBeGreaterThanOrEqual(before);
          expect(end).toBeGreaterThan(start);
          before = start;
        }
      }
    }
  });
});

describe('readResult', () => {
  it('reads a result whose tokens hold a line feed', () => {
    const json = '{"lang": "", "text": "a\nb", "tokens":["a", "\n", "b"], "timestamps": [0.00, 0.10, 0.20]}';
    expect(readResult(json)).toMatchObject({ text: 'a b', tokens: ['a', ' ', 'b'], timestamps: [0, 0.1, 0.2] });
  });

  it('knows what streaming models call probabilities', () => {
    expect(readResult('{"text": "a", "ys_probs": [-0.5]}')).toMatchObject({ ys_log_probs: [-0.5] });
  });

  it('keeps every field', () => {
    const whole: SherpaResult = {
      text: 'a',
      lang: 'en',
      tokens: ['a'],
      timestamps: [1],
      durations: [2],
      ys_log_probs: [-1],
      segment_timestamps: [3],
      segment_durations: [4],
      segment_texts: ['a'],
    };
    expect(readResult(JSON.stringify(whole))).toEqual(whole);
    expect(readResult('{}')).toMatchObject({ text: '', durations: [] });
  });

  it('fills what is missing', () => {
    expect(readResult('{"text": "a"}')).toMatchObject({ lang: '', tokens: [], timestamps: [], ys_log_probs: [] });
  });
});
