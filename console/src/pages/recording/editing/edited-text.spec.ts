import { blocksOf, isDivided } from '../text/blocks';
import { type HeardWord, wordsOf } from '../text/words';
import { EditedText, type Place, type Span } from './edited-text';

const TEXT = 'two boxes are damaged at the north gate';

/** A word each second, half a second long. */
const heard = (text: string, more: Partial<HeardWord> = {}): HeardWord[] =>
  text.split(/\s+/).map((word, n) => ({ word, start: n, end: n + 0.5, confidence: n === 3 ? 0.3 : 0.9, ...more }));

const edited = (text = TEXT, words = heard(text)) =>
  new EditedText(blocksOf(wordsOf(text, words, 60), undefined, isDivided(text)));

const at = (paragraph: number, offset: number): Place => ({ paragraph, offset });
const span = (from: Place, to: Place = from): Span => ({ from, to });
const times = ({ paragraphs }: EditedText) =>
  paragraphs.flatMap(({ words }) => words.map(({ text, start }) => `${text}@${Number(start.toFixed(2))}`)).join(' ');

/** Replaces the only occurrence of a text in its paragraph. */
function change(text: EditedText, before: string, after: string): void {
  const paragraph = text.paragraphs.findIndex((one) => one.text.includes(before));
  const offset = text.paragraphs[paragraph]?.text.indexOf(before) ?? -1;
  text.replace(span(at(paragraph, offset), at(paragraph, offset + before.length)), after);
}

describe('a text that is edited', () => {
  it('keeps the times of all other words, and gives a changed one the time of the word that it replaces', () => {
    const text = edited();
    change(text, 'damaged', 'lost');
    expect(times(text)).toBe('two@0 boxes@1 are@2 lost@3 at@4 the@5 north@6 gate@7');
    expect(text.text).toBe('two boxes are lost at the north gate');
    expect(text.paragraphs[0]?.words[3]?.confidence).toBe(1);
  });

  it.each([
    ['splits a word', 'north', 'no rth', 'no@6 rth@6.2 gate@7'],
    ['joins words', 'north gate', 'northgate', 'the@5 northgate@6'],
    ['adds a word between its neighbours', 'north ', 'north new ', 'north@6 new@6.5 gate@7'],
    ['removes a word', 'north ', '', 'the@5 gate@7'],
  ])('%s in time', (_, before, after, expected) => {
    const text = edited();
    change(text, before, after);
    expect(times(text)).toContain(expected);
    expect(times(text)).toContain('two@0 boxes@1 are@2 damaged@3 at@4');
  });

  it('divides and joins paragraphs, whose words keep their times', () => {
    const text = edited();
    text.replace(span(at(0, 'two boxes are damaged '.length)), '\n');
    expect(text.text).toBe('two boxes are damaged\n\nat the north gate');
    expect(text.paragraphs.map(({ start }) => start)).toEqual([0, 4]);
    text.replace(span(at(0, 'two boxes are damaged'.length), at(1, 0)), '');
    expect(text.text).toBe(TEXT);
    expect(times(text)).toBe(times(edited()));
    text.replace(span(at(0, 'two '.length)), 'new\n\n  paragraphs \n of ');
    expect(text.text).toBe(`two new\n\nparagraphs\n\nof ${TEXT.slice(4)}`);
    const chinese = edited('今日\n\n天気', []);
    chinese.replace(span(at(0, 2), at(1, 0)), '');
    expect(chinese.text).toBe('今日天気');
  });

  it('undoes and redoes what was typed without a pause as one, and tells where the caret is', () => {
    const text = edited();
    const carets: Span[] = [];
    text.draw = (_, caret) => carets.push(caret);
    const type = (value: string, before: number, now: number) =>
      text.type(0, value, span(at(0, before)), before + 1, now);
    type(`two xboxes are damaged at the north gate`, 4, 1000);
    type(`two xyboxes are damaged at the north gate`, 5, 1200);
    type(`two xyzboxes are damaged at the north gate`, 6, 9000);
    text.undo();
    expect(text.text).toContain('xyboxes');
    text.undo();
    expect(text.text).toBe(TEXT);
    expect([text.canUndo.value, text.canRedo.value]).toEqual([false, true]);
    expect(carets.at(-1)).toEqual(span(at(0, 4)));
    expect(times(text)).toBe(times(edited()));
    text.redo();
    expect(text.text).toContain('two xyboxes');
    change(text, 'gate', 'door');
    expect(text.canRedo.value).toBe(false);
  });

  it('never joins what two speakers say', () => {
    const words = [...heard('good morning', { speaker: 'A' }), ...heard('who is there', { speaker: 'B' })].map(
      (word, n) => ({ ...word, start: n, end: n + 0.5 }),
    );
    const text = edited('good morning who is there', words);
    expect(text.paragraphs.map((one) => [one.speaker, one.text])).toEqual([
      ['A', 'good morning'],
      ['B', 'who is there'],
    ]);
    text.replace(span(at(0, 4), at(1, 4)), '');
    expect(text.paragraphs.map((one) => [one.speaker, one.text, one.beginsTurn])).toEqual([
      ['A', 'good', true],
      ['B', 'is there', true],
    ]);
    text.replace(span(at(0, 4), at(1, 0)), '');
    expect(text.paragraphs.map((one) => one.text)).toEqual(['good', 'is there']);
    change(text, 'is ', 'is\n');
    expect(text.paragraphs.map((one) => [one.speaker, one.beginsTurn])).toEqual([
      ['A', true],
      ['B', true],
      ['B', false],
    ]);
    expect(text.text).toBe('good\n\nis\n\nthere');
  });

  it('has the sides of a call in the order in which they speak', () => {
    const said = (word: string, start: number, channel: number) => ({
      ...{ word, start, end: start + 0.3, confidence: 0.9, channel },
    });
    const words = [said('how', 0, 0), said('are', 0.5, 0), said('well', 0.7, 1), said('you', 1, 0)];
    const text = edited('how are well you', words);
    expect(text.paragraphs.map((one) => one.text)).toEqual(['how are you', 'well']);
    expect(text.text).toBe('how are well you');
    change(text, 'are ', 'old are ');
    change(text, 'well', 'very well');
    expect(text.text).toBe('how old are very well you');
    expect(text.spokenAt(0.8)).toMatchObject({ paragraph: 1, word: 1 });
    expect(text.spokenAt(1)).toMatchObject({ paragraph: 0, word: 3, until: Infinity });
    expect(text.spokenAt(0.6)).toMatchObject({ paragraph: 0, word: 2, until: 0.7 });
  });

  it('finds unsure words in both directions, and none twice', () => {
    const text = edited();
    const [found, offset] = [text.nextUnsure(at(0, 0), 1), TEXT.indexOf('damaged')];
    expect(found).toEqual(span(at(0, offset), at(0, offset + 'damaged'.length)));
    expect(text.nextUnsure(at(0, offset), 1)).toBeNull();
    expect(text.nextUnsure(at(0, offset + 9), -1)).toEqual(found);
    change(text, 'damaged', 'lost');
    expect(text.nextUnsure(at(0, 0), 1)).toBeNull();
  });

  it('is corrected quickly when it is long', () => {
    const long = Array.from({ length: 20_000 }, (_, n) => (n % 120 === 119 ? `word${n}.\n\n` : `word${n} `)).join('');
    const text = edited(long.trim(), heard(long.trim()));
    expect(text.paragraphs.length).toBe(167);
    const before = process.cpuUsage();
    for (let n = 0; n < 100; n += 1) text.replace(span(at(80, 3)), 'x', n * 5000);
    const { user, system } = process.cpuUsage(before);
    // Of each: the draw of the browser is to fit into 100 ms too.
    expect((user + system) / 1000 / 100).toBeLessThan(20);
  });

  it('may be empty, and is filled again', () => {
    const text = edited();
    text.replace(span(at(0, 0), at(0, TEXT.length)), '');
    expect([text.text, text.paragraphs.length]).toEqual(['', 1]);
    text.replace(span(at(0, 0)), 'all new');
    expect(text.text).toBe('all new');
    expect(new EditedText([]).text).toBe('');
  });
});
