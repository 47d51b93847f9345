import fc from 'fast-check';
import { timeTokens, type TimedToken, type TimedWord } from './time-tokens.js';
import { joinTokens, tokensOf } from './tokens.js';
import { addPunctuation, markSentenceEnds, type SentenceToken } from './sentences.js';
import { groupParagraphs } from '../exports/render-export.js';

const joined = (tokens: readonly SentenceToken[]): string[] => {
  const sentences: SentenceToken[][] = [[]];
  for (const token of tokens) {
    sentences.at(-1)?.push(token);
    if (token.endsSentence) sentences.push([]);
  }
  return sentences.filter(({ length }) => length > 0).map(joinTokens);
};
const sentencesOf = (text: string): string[] => joined(markSentenceEnds(timeTokens(tokensOf(text), [], 0)));

/** Words of 0.3 s. `0.8` in the text is a pause of so many seconds. */
function spoken(script: string): TimedWord[] {
  const words: TimedWord[] = [];
  let at = 0;
  for (const part of script.split(' ')) {
    if (/^\d+\.\d+$/.test(part)) at += Number(part);
    else words.push({ word: part, start: at, end: (at += 0.3) });
  }
  return words;
}
const timed = (script: string): TimedToken[] => {
  const words = spoken(script);
  return timeTokens(tokensOf(words.map(({ word }) => word).join(' ')), words, 600);
};
const spokenSentences = (script: string): string[] => joined(markSentenceEnds(timed(script)));

describe('markSentenceEnds', () => {
  it.each([
    ['One two. Three four? Five! Six', 4],
    ['今日は良い天気です。散歩に行きましょう！', 2],
    ['你好吗？我很好。', 2],
    ['كيف حالك؟ أنا بخير.', 2],
    ['आप कैसे हैं? मैं ठीक हूँ। धन्यवाद॥', 3],
    ['یہ اچھا ہے۔ شکریہ۔', 2],
    ['Բարեւ։ Ինչպես ես։', 2],
    ['ሰላም። እንዴት ነህ።', 2],
    ['မင်္ဂလာပါ။ နေကောင်းလား။', 2],
    ['Τι κάνεις\u037e Καλά.', 2],
    ['He said “Stop.” Then he left.', 2],
    ['Wait… What?! Really.', 3],
    ['“Why?” she asked. Nobody knew.', 2],
    ['It costs 3.50 at 10.30 today. Not 4.', 2],
    ['Dr. Smith met Mrs. Jones. Both left.', 2],
    ['Call J. F. Kennedy, e.g. at 5 p.m. on Monday. Thanks.', 2],
    ['Wir treffen uns am 3. Mai bei Fam. Meier. Bis dann.', 2],
    ['See fig. 3 and no. 250. Did you see it? No. Never.', 4],
    ['well… maybe so. Then go.', 2],
    ['all lower case. no capitals at all. still three.', 3],
    ['', 0],
  ])('finds the sentences of %j', (text, count) => {
    expect(sentencesOf(text)).toHaveLength(count);
  });

  it('takes line feeds as ends', () => {
    expect(sentencesOf('First line\nsecond line. Third')).toEqual(['First line', 'second line.', 'Third']);
  });

  it('tells the sentences of a text without punctuation by its pauses', () => {
    expect(spokenSentences('we met him there 0.9 he was late 0.3 again 1.8 so 0.9 what')).toEqual([
      'we met him there',
      'he was late again',
      // Two words are no sentence, unless there is much silence around them.
      'so what',
    ]);
  });

  it('needs a shorter pause the longer nobody pauses', () => {
    const words = 'word '.repeat(30).trim();
    expect(spokenSentences(`${words} 0.5 next words`)).toEqual([words, 'next words']);
    expect(spokenSentences('short words here 0.5 next words')).toHaveLength(1);
  });

  it('believes punctuation rather than pauses, but for very long ones', () => {
    expect(spokenSentences('We went 1.2 home. And 2.5 Then slept.')).toEqual(['We went home.', 'And', 'Then slept.']);
  });

  it('ends a sentence at an abbreviation only where there is a pause', () => {
    expect(spokenSentences('At 5 p.m. 0.7 He left.')).toEqual(['At 5 p.m.', 'He left.']);
    expect(spokenSentences('At 5 p.m. Monday he left.')).toHaveLength(1);
  });

  it('ends exactly one sentence with the last token, and changes no token', () => {
    const word = fc.constantFrom('a', 'B.', 'c?', 'Dr.', '3.', '語。', '«d!»', '…', 'e,');
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        const tokens = timeTokens(tokensOf(words.join(' ')), [], 0);
        const marked = markSentenceEnds(tokens);
        expect(marked.at(-1)?.endsSentence).toBe(true);
        expect(marked).toMatchObject(tokens);
      }),
    );
  });
});

describe('groupParagraphs', () => {
  it('begins a paragraph after a pause in a text without punctuation', () => {
    const tokens = markSentenceEnds(timed('one two three 0.8 four five six 1.2 seven eight 2.1 nine'));
    expect(groupParagraphs(tokens).map(joinTokens)).toEqual(['one two three four five six', 'seven eight', 'nine']);
  });

  it('keeps paragraphs readable where nobody pauses for long and there is no punctuation', () => {
    const tokens = markSentenceEnds(timed('word word word word word word word word 0.45 '.repeat(60).trim()));
    expect(Math.max(...groupParagraphs(tokens).map((paragraph) => joinTokens(paragraph).length))).toBeLessThan(1200);
  });
});

describe('addPunctuation', () => {
  const added = (script: string, language = 'english'): string | null => {
    const words = spoken(script);
    return addPunctuation({ text: words.map(({ word }) => word).join(' '), words, language, durationSeconds: 600 });
  };

  it('gives sentences a capital and a full stop', () => {
    expect(added('go forward ten meters 0.9 then i turn left 1.6 see you on monday')).toBe(
      'Go forward ten meters. Then I turn left. See you on Monday.',
    );
  });

  it.each([
    ['german', 'über die straße', 'Über die straße.'],
    ['russian', 'мы едем домой', 'Мы едем домой.'],
    ['greek', 'πάμε σπίτι', 'Πάμε σπίτι.'],
    ['hindi', 'आप कैसे हैं', 'आप कैसे हैं।'],
    ['urdu', 'یہ اچھا ہے', 'یہ اچھا ہے۔'],
    ['arabic', 'أنا بخير', 'أنا بخير.'],
    ['chinese', '你好', '你好。'],
    ['thai', 'สวัสดี', 'สวัสดี'],
    ['georgian', 'გამარჯობა', 'გამარჯობა.'],
    ['english', "i'm sure 0.2 i've 'never' met jim", "I'm sure I've 'never' met jim."],
  ])('writes %s as %s does', (language, script, expected) => {
    expect(added(script, language)).toBe(expected);
  });

  it.each([
    ['capitals', 'Hello there'],
    ['a full stop', 'hello there.'],
    ['commas', 'hello, there'],
    ['no text', ''],
  ])('leaves a text with %s as it is', (_, text) => {
    expect(addPunctuation({ text, words: spoken('hello there'), language: 'english', durationSeconds: 5 })).toBeNull();
  });

  it('keeps the line feeds of a text', () => {
    const words = spoken('hello there 0.2 good morning');
    const text = 'hello there\ngood morning';
    expect(addPunctuation({ text, words, language: 'english', durationSeconds: 5 })).toBe(
      'Hello there.\nGood morning.',
    );
  });

  it('adds nothing where the engine reports no word times', () => {
    expect(addPunctuation({ text: 'hello there', words: [], language: 'english', durationSeconds: 5 })).toBeNull();
  });

  it('changes only the case of letters and adds marks after sentences', () => {
    const word = fc.constantFrom('go', 'i', 'ten', "don't", 'ß', '語', 'ﬁne', '9', 'и', '0.4', '0.9', '2.5');
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 60 }), (script) => {
        const text = spoken(script.join(' '))
          .map((spokenWord) => spokenWord.word)
          .join(' ');
        const result = added(script.join(' '));
        if (result === null) return;
        expect(result.toLowerCase().replaceAll(/[.。]/g, '')).toBe(joinTokens(tokensOf(text)));
      }),
    );
  });
});

describe('groupParagraphs', () => {
  /** Two tokens of so many characters, and the pause between them. */
  const paragraphs = (pause: number, endsSentence: boolean, characters = 3, newLine = false): number => {
    const [first, next] = tokensOf('one two').map((token) => ({ ...token, words: [], start: 0, end: 1, endsSentence }));
    const long = { ...first!, text: 'a'.repeat(characters) };
    return groupParagraphs([long, { ...next!, start: 1 + pause, end: 9, newLine }]).length;
  };

  it.each([
    [1.99, false, 1],
    [2, false, 2],
    [0.99, true, 1],
    [1, true, 2],
  ])('after a pause of %s s, and the end of a sentence: %s, has %s', (pause, endsSentence, count) => {
    expect(paragraphs(pause, endsSentence)).toBe(count);
  });

  it('begins one at a line feed, and with the sentence after 800 characters', () => {
    expect(paragraphs(0, false, 3, true)).toBe(2);
    expect([paragraphs(0, true, 799), paragraphs(0, true, 800), paragraphs(0, false, 800)]).toEqual([1, 2, 1]);
  });

  it('counts the spaces between words, and begins to count anew with each paragraph', () => {
    const token = (text: string, endsSentence: boolean) => ({
      ...tokensOf('a')[0]!,
      text,
      words: [],
      start: 0,
      end: 0,
      endsSentence,
    });
    const half = token('a'.repeat(399), false);
    const [end, next] = [token('a'.repeat(400), true), token('b', true)];
    expect(groupParagraphs([half, end, next, next]).map(({ length }) => length)).toEqual([2, 2]);
    expect(groupParagraphs([half, token('a'.repeat(399), true), next]).map(({ length }) => length)).toEqual([3]);
  });
});
