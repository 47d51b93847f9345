import fc from 'fast-check';
import { startCpuTime } from '../../../../test/support/cpu-wait.js';
import { type Cue, cuesOf, type ExportSource } from './cues.js';
import { diarizedSegmentsOf } from './diarized-json.js';
import { type ExportInput, paragraphsOf, renderExport, subRipOf, webVttOf } from './render-export.js';

type Spoken = [word: string, start: number, end: number];
const source = (
  spoken: Spoken[],
  text = spoken.map(([word]) => word).join(' '),
  durationSeconds = 60,
): ExportSource => ({
  text,
  words: spoken.map(([word, start, end]) => ({ word, start, end })),
  durationSeconds,
});
const untimed = (text: string, durationSeconds: number): ExportSource => ({ text, words: [], durationSeconds });

/** Words of `seconds` each, one after another. */
const evenly = (text: string, seconds: number, from = 0): Spoken[] =>
  text.split(' ').map((word, i) => [word, from + i * seconds, from + (i + 1) * seconds]);

const textsOf = (cues: Cue[]): string[] => cues.map(({ text }) => text);
const withoutBlanks = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, '');

function expectLimits(cues: Cue[], text: string): void {
  let free = 0;
  for (const { startMs, endMs, lines, text: whole } of cues) {
    expect([Number.isInteger(startMs), Number.isInteger(endMs)]).toEqual([true, true]);
    expect(startMs).toBeGreaterThanOrEqual(free);
    expect(endMs - startMs).toBeGreaterThanOrEqual(1000);
    expect(endMs - startMs).toBeLessThanOrEqual(7000);
    expect([1, 2]).toContain(lines.length);
    for (const line of lines) {
      expect(line.length).toBeGreaterThan(0);
      expect(line.length).toBeLessThanOrEqual(42);
      expect(line).toBe(line.trim());
    }
    expect(withoutBlanks(lines.join(''))).toBe(withoutBlanks(whole));
    free = endMs;
  }
  expect(withoutBlanks(textsOf(cues).join(''))).toBe(withoutBlanks(text));
}

describe('cues (D42)', () => {
  it('keep every limit and all words in order, whatever the text, the words and the duration', () => {
    const word = fc.oneof(
      fc.stringMatching(/^[a-z]{1,12}[.,?]?$/),
      fc.constantFrom(
        '今日は良い天気ですね。',
        'สวัสดีครับ',
        'שלום',
        'مرحبا',
        'x'.repeat(130),
        '👩‍👩‍👧‍👦'.repeat(9),
        '-->',
        '<i>',
        '&amp;',
        'a' + '\u0301'.repeat(99),
      ),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }),
    );
    const time = fc.oneof(
      fc.double({ min: 0, max: 40, noNaN: true }),
      fc.constantFrom(0, 1, 1, 2, 39.999, NaN, Infinity, -3, 1e9),
    );
    const transcripts = fc.record({
      words: fc.array(fc.record({ word, start: time, end: time }), { maxLength: 60 }),
      sorted: fc.boolean(),
      timed: fc.boolean(),
      durationSeconds: fc.constantFrom(0, 0.5, 12.34, 40, 7200),
    });
    fc.assert(
      fc.property(transcripts, ({ words, sorted, timed, durationSeconds }) => {
        const text = words.map((spoken) => spoken.word).join(' ');
        const ordered = sorted ? words.toSorted((a, b) => a.start - b.start) : words;
        expectLimits(cuesOf({ text, words: timed ? ordered : [], durationSeconds }), text);
      }),
      { numRuns: 300 },
    );
  });

  it('end at pauses, and never reach across one of a second', () => {
    const spoken = [
      ...evenly('one two three', 0.3),
      ...evenly('four five', 0.3, 1.9),
      ...evenly('six seven', 0.4, 3.1),
    ];
    const cues = cuesOf(source(spoken));
    expect(textsOf(cues)).toEqual(['one two three', 'four five', 'six seven']);
    expect(cues.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
      [0, 1000],
      [1900, 2900],
      [3100, 4100],
    ]);
  });

  it('end with sentences rather than within them, and with clauses rather than between other words', () => {
    const text =
      'This is the first sentence of the note, and it is a long one. Here begins the second, which is much longer than two lines can hold, so it is cut.';
    expect(textsOf(cuesOf(source(evenly(text, 0.35))))).toEqual([
      'This is the first sentence of the note, and it is a long one.',
      'Here begins the second,',
      'which is much longer than two lines can hold, so it is cut.',
    ]);
  });

  it('have two lines of similar length', () => {
    const [cue] = cuesOf(source(evenly('we would like to know when the next train to the coast leaves', 0.4)));
    expect(cue?.lines).toEqual(['we would like to know when the', 'next train to the coast leaves']);
  });

  it('take words with punctuation from the text, times from the words', () => {
    const spoken: Spoken[] = [
      ['hello', 1, 1.4],
      ['world', 1.5, 2.5],
    ];
    expect(cuesOf(source(spoken, 'Hello, world!'))).toEqual([
      { startMs: 1000, endMs: 2500, lines: ['Hello, world!'], text: 'Hello, world!' },
    ]);
  });

  it('distribute a text without word times over the duration', () => {
    const cues = cuesOf(untimed('word '.repeat(60).trim(), 30));
    expect(cues[0]?.startMs).toBe(0);
    expect(cues.at(-1)?.endMs).toBe(30_000);
    expectLimits(cues, 'word '.repeat(60));
  });

  it('cut a word that is longer than a line, and text without spaces between its words', () => {
    expect(cuesOf(untimed(`see ${'a'.repeat(50)}`, 3))[0]?.lines.join('|')).toMatch(/^see\|a{42}$|^see a{38}\|a{12}$/);
    const [japanese] = cuesOf(
      untimed('本日はお忙しい中お集まりいただきまして誠にありがとうございます。それでは会議を始めます。', 6),
    );
    expect(japanese?.lines.join('')).toMatch(/^本日は.+/);
    expect(japanese?.text).not.toContain(' ');
  });

  it('share the time of a word that is longer than a line among its parts', () => {
    expect(cuesOf(source([['a'.repeat(126), 0, 12.6]]))).toMatchObject([
      { startMs: 0, endMs: 4200 },
      { startMs: 4200, endMs: 8400 },
      { startMs: 8400, endMs: 12_600, text: 'a'.repeat(42) },
    ]);
  });

  it('show a word that an engine reports for minutes for 7 seconds', () => {
    expect(cuesOf(source([['um', 2, 50]]))).toMatchObject([{ startMs: 2000, endMs: 9000 }]);
  });

  it('come later where words follow each other too fast, and are in time again after a pause', () => {
    const fast = evenly('extraordinarily '.repeat(30).trim(), 0.01);
    const cues = cuesOf(source([...fast, ...evenly('then slowly again', 0.5, 20)]));
    expect(cues.at(-1)).toMatchObject({ startMs: 20_000, text: 'then slowly again' });
    expectLimits(cues, `${'extraordinarily '.repeat(30)} then slowly again`);
  });

  it('of no text are none', () => {
    expect(cuesOf(untimed('', 5))).toEqual([]);
    expect(cuesOf(untimed(' \n ', 0))).toEqual([]);
  });

  it('of a text as long as 40 minutes of speech are made in a bounded time, with and without word times', () => {
    const text = 'some words of a long, long note. '.repeat(3_000).trim();
    const cpuMs = startCpuTime();
    expect(cuesOf(source(evenly(text, 0.14), text, 4000)).length).toBeGreaterThan(1000);
    expect(cuesOf(untimed(`${text} ${'語'.repeat(7_000)} ${'x'.repeat(7_000)}`, 2400)).length).toBeGreaterThan(1000);
    expect(cpuMs()).toBeLessThan(4000);
  });
});

describe('SubRip (D42)', () => {
  it('numbers cues, and separates them by an empty line', () => {
    const late = evenly('the end', 0.5, 3723.0045);
    expect(subRipOf(source([...evenly('hello there', 0.6), ...late], undefined, 4000))).toBe(
      '1\n00:00:00,000 --> 00:00:01,200\nhello there\n\n2\n01:02:03,005 --> 01:02:04,005\nthe end\n',
    );
  });

  it.each([
    [65.5, '00:01:05,500'],
    [3599.999, '00:59:59,999'],
    [3600, '01:00:00,000'],
    [37_139, '10:18:59,000'],
  ])('writes %s s as %s', (start, time) => {
    expect(subRipOf(source([['a', start, start + 1]], 'a', 80_000))).toContain(`${time} --> `);
  });

  it('is empty without text, and leaves no arrow in it', () => {
    expect(subRipOf(untimed('', 5))).toBe('');
    const srt = subRipOf(untimed('a 00:00:01,000 ----> 00:00:02,000 <i>b</i>', 4));
    expect(srt.match(/-->/g)).toHaveLength(1);
    // Quadratic: over half a minute.
    const before = process.cpuUsage();
    subRipOf(untimed('-'.repeat(200_000), 4));
    expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
    expect(srt).toContain('<i>b</i>');
  });
});

describe('WebVTT (D42)', () => {
  it('begins with its name, and escapes markup', () => {
    expect(webVttOf(untimed('Tom & <b>Jerry</b> --> &lt;', 2))).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nTom &amp; &lt;b&gt;Jerry&lt;/b&gt; --&gt; &amp;lt;\n',
    );
  });

  it('without text is a file without cues', () => {
    expect(webVttOf(untimed('', 5))).toBe('WEBVTT\n');
  });
});

describe('paragraphs (D42)', () => {
  it('begin after a long pause, after a shorter one that follows a sentence, and at line feeds', () => {
    const spoken = [
      ...evenly('one two.', 0.5),
      ...evenly('three four', 0.5, 2.2),
      ...evenly('five', 0.5, 4.5),
      ...evenly('six', 0.5, 7.5),
      ...evenly('seven', 0.5, 8),
    ];
    expect(paragraphsOf(source(spoken, 'one two. three four five six\nseven'))).toBe(
      'one two.\n\nthree four five\n\nsix\n\nseven',
    );
  });

  it('are those of a person who left an empty line between them', () => {
    const spoken = [...evenly('one two.', 0.5), ...evenly('three four', 0.5, 9), ...evenly('five', 0.5, 30)];
    expect(paragraphsOf(source(spoken, 'one two. three\n\nfour five'))).toBe('one two. three\n\nfour five');
  });

  it('end with a sentence where nobody pauses', () => {
    const text = 'This sentence has about forty characters. '.repeat(60).trim();
    const lengths = paragraphsOf(untimed(text, 120))
      .split('\n\n')
      .map(({ length }) => length);
    expect(lengths.length).toBeGreaterThan(2);
    expect(Math.max(...lengths)).toBeLessThan(900);
  });

  it('of no text are empty', () => {
    expect(paragraphsOf(untimed('', 1))).toBe('');
  });
});

describe('exports of channels that were transcribed each on its own', () => {
  const said: [word: string, start: number, channel: number][] = [
    ['good', 0, 0],
    ['day', 0.5, 0],
    ['hello', 1.5, 1],
    ['how', 4, 0],
    ['are', 4.4, 0],
    ['fine', 4.6, 1],
    ['you', 4.8, 0],
  ];
  const call: ExportSource = {
    text: 'Good day. Hello! How are fine you?',
    words: said.map(([word, start, channel]) => ({ word, start, end: start + 0.3, channel })),
    durationSeconds: 6,
  };

  it('name the channel whenever it changes, and keep turns together that overlap', () => {
    expect(paragraphsOf(call)).toBe(
      'Channel 0: Good day.\n\nChannel 1: Hello!\n\nChannel 0: How are you?\n\nChannel 1: fine',
    );
    const lines = subRipOf(call)
      .split('\n')
      .filter((line) => /[a-z]/.test(line));
    expect(lines).toEqual(['Channel 0: Good day.', 'Channel 1: Hello!', 'Channel 0: How are you?', 'Channel 1: fine']);
    expect(webVttOf(call)).toMatch(/\n<v Channel 1>Hello!\n/);
  });

  it('keep the limits of cues, and leave the names out of the cues themselves', () => {
    const cues = cuesOf(call);
    expect(cues.map(({ voice, startMs, text }) => [voice, startMs, text])).toEqual([
      ['Channel 0', 0, 'Good day.'],
      ['Channel 1', 1500, 'Hello!'],
      ['Channel 0', 4000, 'How are you?'],
      ['Channel 1', 4600, 'fine'],
    ]);
    for (const voice of ['Channel 0', 'Channel 1']) {
      const own = cues.filter((cue) => cue.voice === voice);
      expectLimits(own, own.map(({ text }) => text).join(' '));
    }
    const long = Array.from({ length: 40 }, (_, i) => ({ word: 'extraordinary', start: i, end: i + 0.9, channel: 1 }));
    const lecture = { text: long.map(({ word }) => word).join(' '), words: long, durationSeconds: 40 };
    expect(
      subRipOf(lecture)
        .split('\n')
        .every((line) => line.length <= 42),
    ).toBe(true);
    expect(subRipOf(lecture).match(/Channel 1:/g)).toHaveLength(1);
  });

  it('come no later because the other side speaks as well', () => {
    const both = Array.from({ length: 20 }, (_, i) => ({
      word: i % 2 === 0 ? 'left' : 'right',
      start: i / 2,
      end: i / 2 + 0.45,
      channel: i % 2,
    }));
    const argument = { text: both.map(({ word }) => word).join(' '), words: both, durationSeconds: 10 };
    const cues = cuesOf(argument);
    expect(cues.at(-1)?.endMs).toBeLessThanOrEqual(10_500);
    expect(cues.every(({ text, voice }) => !text.includes(voice === 'Channel 0' ? 'right' : 'left'))).toBe(true);
    expect(cues.map(({ startMs }) => startMs)).toEqual(cues.map(({ startMs }) => startMs).toSorted((a, b) => a - b));
  });
});

describe('exports of speakers who were told apart (D87)', () => {
  const said: [word: string, start: number, speaker: string][] = [
    ['good', 0, 'A'],
    ['day', 0.4, 'A'],
    ['hello', 0.8, 'B'],
    ['how', 1.2, 'A'],
    ['are', 1.6, 'A'],
    ['you', 2, 'A'],
    ['fine', 5, 'C'],
  ];
  const talk = (names: ExportInput['names'] = null, spoken = said): Omit<ExportInput, 'format'> => ({
    recordingId: 'r-1',
    text: 'Good day. Hello! How are you? Fine.',
    words: JSON.stringify(spoken.map(([word, start, speaker]) => ({ word, start, end: start + 0.3, speaker }))),
    durationSeconds: 6,
    names,
  });
  const render = (format: ExportInput['format'], input = talk()): string => renderExport({ format, ...input });
  const linesOf = (text: string): string[] => text.split('\n').filter((line) => /[a-z]/i.test(line));

  it('have a line, a paragraph, or a cue for each turn, with its label or name', () => {
    expect(render('text')).toBe('A: Good day.\nB: Hello!\nA: How are you?\nC: Fine.');
    const named = talk({ A: 'Ada', B: 'Tom & <Co>' });
    expect(render('text', named)).toBe('Ada: Good day.\nTom & <Co>: Hello!\nAda: How are you?\nC: Fine.');
    expect(render('paragraphs', named)).toBe('Ada: Good day.\n\nTom & <Co>: Hello!\n\nAda: How are you?\n\nC: Fine.');
    expect(linesOf(render('srt', named))).toEqual(linesOf(render('text', named)));
    expect(render('vtt', named)).toMatch(/\n<v Ada>Good day\.\n(.*\n)+<v Tom &amp; &lt;Co&gt;>Hello!\n/);
  });

  it('show two labels with one name as one person, whose turns join', () => {
    const merged = talk({ A: 'Ada', B: 'Ada' });
    expect(render('text', merged)).toBe('Ada: Good day. Hello! How are you?\nC: Fine.');
    expect(render('rttm', merged)).toBe(
      'SPEAKER r-1 1 0.000 2.300 <NA> <NA> Ada <NA> <NA>\nSPEAKER r-1 1 5.000 0.300 <NA> <NA> C <NA> <NA>\n',
    );
  });

  it('tell nobody who speaks where one voice is heard, but for the tag of WebVTT', () => {
    const alone = talk({ A: 'Ada', B: 'Ada', C: 'Ada' });
    const { text } = alone;
    expect([render('text', alone), render('paragraphs', alone)]).toEqual([
      text,
      'Good day. Hello! How are you?\n\nFine.',
    ]);
    expect(render('srt', alone)).not.toContain('Ada');
    expect(render('vtt', alone)).toContain('<v Ada>');
  });

  it('do not cut a text by pauses alone, as those of channels do', () => {
    const call = JSON.stringify([
      { word: 'yes', start: 0, end: 0.3, speaker: 'A', channel: 0 },
      { word: 'but', start: 0.4, end: 0.6, speaker: 'B', channel: 1 },
      { word: 'indeed', start: 0.5, end: 0.9, speaker: 'A', channel: 0 },
    ]);
    const input = { ...talk({ B: 'Ben' }), text: 'yes but indeed', words: call };
    expect(render('text', input)).toBe('A: yes indeed\nBen: but');
    expect(render('rttm', input)).toBe(
      'SPEAKER r-1 1 0.000 0.900 <NA> <NA> A <NA> <NA>\nSPEAKER r-1 2 0.400 0.200 <NA> <NA> Ben <NA> <NA>\n',
    );
  });

  it('of a script without spaces join nothing with a space, and begin turns between words', () => {
    const spoken = [...'你好吗我很好'].map((word, i): [string, number, string] => [word, i / 2, i < 3 ? 'A' : 'B']);
    const input = { ...talk({ B: '王 明' }, spoken), text: '你好吗？我很好。' };
    expect(render('text', input)).toBe('A: 你好吗？\n王 明: 我很好。');
    expect(render('rttm', input)).toContain(' 王_明 ');
  });

  it('cut a name that is longer than a line of SubRip, and no other form', () => {
    const name = 'A name of many words '.repeat(4).trim();
    const srt = render('srt', talk({ A: name }));
    expect(srt.split('\n').every((line) => line.length <= 42)).toBe(true);
    expect(srt).toContain('A name of many words A name of many word…:');
    expect(render('text', talk({ A: name }))).toContain(`${name}: Good day.`);
    const clusters = '👩‍👩‍👧‍👦'.repeat(12);
    expect(render('srt', talk({ A: clusters })).isWellFormed()).toBe(true);
  });

  it('leave a text without speakers as it is, whatever its words say', () => {
    const words = JSON.stringify([{ word: '"speaker":', start: 0, end: 1 }]);
    const plain = { ...talk(), text: 'a\n"speaker":  b', words };
    expect(render('text', plain)).toBe(plain.text);
    expect(render('rttm', plain)).toBe('');
  });

  it('have the segments of OpenAI: turns in paragraphs, each with its times', () => {
    expect(JSON.parse(diarizedSegmentsOf(talk({ A: 'Ada' })))).toEqual(
      [
        [0, 0.7, 'Good day.', 'Ada'],
        [0.8, 1.1, 'Hello!', 'B'],
        [1.2, 2.3, 'How are you?', 'Ada'],
        [5, 5.3, 'Fine.', 'C'],
      ].map(([start, end, text, speaker], index) => ({
        type: 'transcript.text.segment',
        id: `seg_00${index + 1}`,
        start,
        end,
        text,
        speaker,
      })),
    );
  });

  it('of two hours with 20 speakers are made in a bounded time', () => {
    const spoken = Array.from({ length: 20_000 }, (_, i): [string, number, string] => {
      const turn = Math.floor(i / 13) % 20;
      return [`word${i % 89}`, i * 0.36, String.fromCharCode(65 + turn)];
    });
    const input = {
      ...talk({ A: 'Ada' }, spoken),
      text: spoken.map(([word]) => word).join(' '),
      durationSeconds: 7200,
    };
    for (const format of ['text', 'srt', 'vtt', 'paragraphs', 'rttm'] as const) {
      const cpuMs = startCpuTime();
      expect(render(format, input).length).toBeGreaterThan(50_000);
      expect(cpuMs()).toBeLessThan(4000);
    }
  });
});
