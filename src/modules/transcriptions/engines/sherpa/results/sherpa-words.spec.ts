import { readResult, type SherpaResult } from './sherpa-result.js';
import { wordsOf } from './sherpa-words.js';

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
    const fields = { text: 'Hello, world.', tokens: [' Hello', ',', ' world', '.'], timestamps: [0, 0.4, 0.6, 1] };
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

  it('fills what is missing', () => {
    expect(readResult('{"text": "a"}')).toMatchObject({ lang: '', tokens: [], timestamps: [], ys_log_probs: [] });
  });
});
