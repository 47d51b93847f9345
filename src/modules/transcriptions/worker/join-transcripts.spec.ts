import fc from 'fast-check';
import {
  calibratedConfidence,
  type Calibration,
  type CalibrationPoint,
  POCKETSPHINX_EN_US,
} from '../engines/calibration.js';
import type { ChunkTranscript } from '../engines/transcription-engine.js';
import type { TimedToken } from '../text/time-tokens.js';
import { tokensOf } from '../text/tokens.js';
import { channelsOf, turnsOf } from '../text/turns.js';
import {
  calibrated,
  channelFeature,
  channelsToTranscribe,
  joinChannels,
  joinTranscripts,
  storable,
  TextJoiner,
  type TranscribedChunk,
} from './join-transcripts.js';

function chunkOf(
  start: number,
  text: string,
  confidence: number | null,
  extra: Partial<TranscribedChunk['transcript']> = {},
): TranscribedChunk {
  return { start, seconds: 10, transcript: { text, confidence, language: 'english', words: [], ...extra } };
}

const wordAt = (text: string, start: number, confidence: number | null = 0.5) => ({
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
      chunkOf(0, 'one', 1, { words: [wordAt('one', 0.1)] }),
      chunkOf(12.34, 'two', 1, { words: [wordAt('two', 0.3)] }),
    ]);
    expect(words).toEqual([
      { word: 'one', start: 0.1, end: 0.6, confidence: 0.5 },
      { word: 'two', start: 12.64, end: 13.14, confidence: 0.5 },
    ]);
  });

  it('weights confidence by the number of words', () => {
    const one = chunkOf(0, 'one', 1, { words: [wordAt('one', 0)] });
    const three = chunkOf(10, 'a b c', 0.6, { words: [wordAt('a', 0), wordAt('b', 1), wordAt('c', 2)] });
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
    const chunk = chunkOf(0, 'a b', null, { words: [wordAt('a', 0, 0.2), wordAt('b', 1, 0.4)] });
    expect(joinTranscripts([chunk]).confidence).toBeCloseTo(0.3);
  });

  it('uses 0.5 when the engine gives no confidence at all', () => {
    expect(joinTranscripts([chunkOf(0, 'text alone', null)]).confidence).toBe(0.5);
    expect(joinTranscripts([chunkOf(0, 'a', null, { words: [wordAt('a', 0, null)] })]).confidence).toBe(0.5);
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

/** A chunk with a word each half second. */
function spoken(start: number, text: string, words = text.split(' ')): TranscribedChunk {
  const timed = words.map((word, index) => ({ word, start: index / 2, end: index / 2 + 0.4, confidence: 0.8 }));
  return { start, seconds: 5, transcript: { text, confidence: null, language: 'english', words: timed } };
}

describe('joinChannels', () => {
  it('leaves a recording of one channel as it is', () => {
    const joined = joinChannels([[spoken(0, 'good day'), spoken(7, 'yes')]], 10);
    expect(joined.text).toBe('good day yes');
    expect(joined.words.map((word) => Object.keys(word))).toEqual(
      Array.from({ length: 3 }, () => ['word', 'start', 'end', 'confidence']),
    );
  });

  it('merges the words of two by time, and the text with its punctuation in the same order', () => {
    const caller = [spoken(0, 'Good day, Sir.', ['good', 'day', 'sir']), spoken(6, 'The order.', ['the', 'order'])];
    const agent = [spoken(2.2, 'Hello! How can', ['hello', 'how', 'can']), spoken(6.1, 'Yes?', ['yes'])];
    const { text, words, confidence, language } = joinChannels([caller, agent], 10);
    expect(text).toBe('Good day, Sir. Hello! How can The Yes? order.');
    expect(words.map(({ word, channel }) => [word, channel])).toEqual([
      ['good', 0],
      ['day', 0],
      ['sir', 0],
      ['hello', 1],
      ['how', 1],
      ['can', 1],
      ['the', 0],
      ['yes', 1],
      ['order', 0],
    ]);
    expect({ confidence, language }).toEqual({ confidence: 0.8, language: 'english' });
  });

  it('puts the first channel first when both begin at the same time', () => {
    expect(joinChannels([[spoken(1, 'left')], [spoken(1, 'right')]], 3).text).toBe('left right');
  });

  it('merges whole chunks of an engine that reports no words', () => {
    const { text, words } = joinChannels(
      [[spoken(0, 'One.', []), spoken(9, 'Three.', [])], [spoken(4, 'Two.', [])]],
      12,
    );
    expect({ text, words }).toEqual({ text: 'One. Two. Three.', words: [] });
  });

  it('has nothing of channels on which nobody speaks', () => {
    expect(joinChannels([[], []], 3)).toEqual({ text: '', confidence: 0, language: null, words: [] });
    expect(joinChannels([[], [spoken(1, 'hello')]], 3)).toMatchObject({ text: 'hello', words: [{ channel: 1 }] });
  });

  it('keeps the characters of a script without spaces together, and chunks without words beside them', () => {
    const chinese = [spoken(0, '你好吗 好', ['你', '好', '吗', '好'])];
    const { text } = joinChannels([chinese, [spoken(0.6, 'Yes', ['yes'])]], 5);
    expect(text).toBe('你好吗 Yes 好');
    expect(joinChannels([chinese, [spoken(0.6, ' Yes. ', [])]], 5).text).toBe('你好吗 Yes. 好');
  });
});

describe('channelsOf', () => {
  const token = (word?: number): TimedToken => ({
    ...tokensOf('a')[0]!,
    start: 0,
    end: 0,
    words: word === undefined ? [] : [word],
  });
  const WORDS = [{ channel: 1 }, { channel: 0 }];

  it('gives a token without a word the channel of the one before, at the beginning that of the one after', () => {
    expect(channelsOf([token(), token(0), token(), token(1), token()], WORDS)).toEqual([1, 1, 1, 0, 0]);
    expect(channelsOf([token(), token(0)], [{}])).toEqual([undefined, undefined]);
  });
});

describe('turnsOf', () => {
  const at = (start: number, word: number): TimedToken => ({
    ...tokensOf('a')[0]!,
    start,
    end: start + 0.5,
    words: [word],
  });
  const BOTH = [{ channel: 0 }, { channel: 1 }];
  const turns = (...tokens: TimedToken[]) => turnsOf(tokens, BOTH).map(({ voice, tokens: own }) => [voice, own.length]);

  it('ends at a pause of a second in which the other side speaks, and at no other', () => {
    expect(turns(at(0, 0), at(0.7, 1), at(1.4, 0))).toEqual([
      ['Channel 0', 2],
      ['Channel 1', 1],
    ]);
    expect(turns(at(0, 0), at(0.7, 1), at(1.5, 0))).toEqual([
      ['Channel 0', 1],
      ['Channel 1', 1],
      ['Channel 0', 1],
    ]);
    expect(turns(at(0, 0), at(9, 0))).toEqual([['Channel 0', 2]]);
  });
});

describe('channelsToTranscribe', () => {
  it.each([
    [{ channels: 2, separateChannels: true }, [0, 1], { channels: 2 }],
    [{ channels: 1, separateChannels: true }, [null], { channels: 1 }],
    [{ channels: 3, separateChannels: true }, [null], { channels: 1 }],
    [{ channels: null, separateChannels: true }, [null], { channels: 1 }],
    [{ channels: 2, separateChannels: false }, [null], {}],
    [{ channels: 2 }, [null], {}],
  ])('of %j are %j, with the feature %j', (recording, channels, feature) => {
    expect(channelsToTranscribe(recording)).toEqual(channels);
    expect(channelFeature(recording)).toEqual(feature);
  });
});

const POINTS: CalibrationPoint[] = [
  [0.2, 0.1],
  [0.6, 0.5],
  [0.8, 0.9],
];
const CALIBRATION: Calibration = { points: POINTS, date: '2026-11-22', data: 'three words' };

const transcript = (confidence: number | null, words: (number | null)[]): ChunkTranscript => ({
  text: 'go forward',
  confidence,
  language: 'english',
  words: words.map((value, start) => ({ word: 'go', start, end: start + 1, confidence: value })),
});

describe('calibratedConfidence', () => {
  it.each([
    [0, 0.1],
    [0.2, 0.1],
    [0.4, 0.3],
    [0.6, 0.5],
    [0.7, 0.7],
    [1, 0.9],
  ])('of %d is %d', (reported, expected) => {
    expect(calibratedConfidence(POINTS, reported)).toBeCloseTo(expected, 10);
  });
});

describe('calibrated', () => {
  it('maps the words, and takes their mean for the whole', () => {
    const { words, confidence } = calibrated(transcript(0.99, [0.2, 0.6]), CALIBRATION);
    expect(words.map((word) => word.confidence)).toEqual([0.1, 0.5]);
    expect(confidence).toBeCloseTo(0.3, 10);
  });

  it('maps that of the whole where words have none', () => {
    expect(calibrated(transcript(0.8, []), CALIBRATION).confidence).toBe(0.9);
    expect(calibrated(transcript(0.8, [0.2, null]), CALIBRATION)).toMatchObject({ confidence: 0.9 });
    expect(calibrated(transcript(null, [null]), CALIBRATION)).toEqual(transcript(null, [null]));
  });

  it('changes nothing for an engine without a mapping', () => {
    const given = transcript(0.4, [0.1, null]);
    expect(calibrated(given, undefined)).toBe(given);
  });
});

describe('the mapping of PocketSphinx', () => {
  it('rises, and stays within 0 and 1', () => {
    const confidence = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(confidence, confidence, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map((reported) =>
          calibratedConfidence(POCKETSPHINX_EN_US.points, reported),
        ) as [number, number];
        expect(low).toBeLessThanOrEqual(high);
        expect(low).toBeGreaterThan(0);
        expect(high).toBeLessThan(1);
      }),
    );
  });
});

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
