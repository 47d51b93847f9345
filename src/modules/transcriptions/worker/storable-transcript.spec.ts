import { storable } from './storable-transcript.js';

describe('storable', () => {
  it('drops NUL and replaces lone surrogates, which Postgres refuses, and keeps everything else', () => {
    const word = { start: 0, end: 1, confidence: 0.5 };
    expect(
      storable({
        text: 'a\u0000b \ud800 😀\n',
        language: 'eng\u0000lish',
        confidence: null,
        words: [
          { word: 'a\u0000b', ...word },
          { word: '\udc00', ...word },
        ],
      }),
    ).toEqual({
      text: 'ab \ufffd 😀\n',
      language: 'english',
      confidence: null,
      words: [
        { word: 'ab', ...word },
        { word: '\ufffd', ...word },
      ],
    });
  });
});
