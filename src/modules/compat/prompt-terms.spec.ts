import { promptTerms } from './prompt-terms.js';

describe('promptTerms', () => {
  it.each([
    ['', []],
    ['Kubernetes, Grafana', ['Kubernetes', 'Grafana']],
    ['Kubernetes\nGrafana\r\n- New York', ['Kubernetes', 'Grafana', 'New York']],
    ['Glossary: Aimee, Shawn, BBQ.', ['Aimee', 'Shawn', 'BBQ']],
    ['クーバネティス、グラファナ', ['クーバネティス', 'グラファナ']],
    ['"ZyntriQix"; (B.R.I.C.K.) ; QuirkQuid Quill Inc.', ['ZyntriQix', 'B.R.I.C.K.', 'QuirkQuid Quill Inc']],
    ['kubernetes, KUBERNETES', ['kubernetes']],
    [
      'The following is a talk by Zoë Miller about GPT-4 and New York. She likes it very much indeed.',
      ['Zoë Miller', 'GPT-4', 'New York'],
    ],
    ['um, so, like, you know what I mean by that', ['um', 'so', 'like', 'I']],
    ['a\u0000b\ud800, ---, c\u0007', ['a b\ufffd', 'c']],
  ])('%j names %j', (prompt, terms) => {
    expect(promptTerms(prompt)).toEqual(terms);
  });

  it('takes any text without an error, and at most 100 terms of at most 64 characters', () => {
    const many = promptTerms(Array.from({ length: 500 }, (_, i) => `term ${i}`).join(','));
    expect(many).toHaveLength(100);
    expect(promptTerms('x'.repeat(16_384))).toEqual([]);
    expect(promptTerms(', '.repeat(8000))).toEqual([]);
    expect(promptTerms('A '.repeat(8000))).toEqual([]);
  });

  it('takes time in proportion to the length, whatever the marks', () => {
    for (const mark of ['"', ' ', '.', ',', ': ', '" ', '. .']) {
      const prompt = `${'x'.repeat(10)}${mark.repeat(400_000 / mark.length)}x`;
      const before = process.cpuUsage();
      promptTerms(prompt);
      const { user } = process.cpuUsage(before);
      // Quadratic: over a minute.
      expect(user).toBeLessThan(2_000_000);
    }
  });
});
