import { startCpuTime } from '../../../../test/support/cpu-wait.js';
import type { AudioChunk, ChunkTranscript, TranscriptWord } from '../engines/transcription-engine.js';
import { dropInventedWords, droppedWords, findLoops, withoutRepeats } from './invented-words.js';

const word = (text: string, start: number, end: number, confidence: number | null = 0.3): TranscriptWord => ({
  word: text,
  start,
  end,
  confidence,
});

/** Somebody speaks from 0.3 to 2 s and from 5 to 7 s. */
const SPEECH = [
  { start: 0.3, end: 2 },
  { start: 5, end: 7 },
];

function chunk(speech?: AudioChunk['speech']): AudioChunk {
  return { pcm: Buffer.alloc(0), start: 0, ...(speech ? { speech } : {}) };
}

function transcript(words: TranscriptWord[], text = words.map((each) => each.word).join(' ')): ChunkTranscript {
  return { text, confidence: 0.9, language: 'english', words };
}

async function dropped(reason: string): Promise<number> {
  const { values } = await droppedWords.get();
  return values.find(({ labels }) => labels.engine === 'test' && labels.reason === reason)?.value ?? 0;
}

const drop = (given: ChunkTranscript, speech: AudioChunk['speech'] = SPEECH): ChunkTranscript =>
  dropInventedWords('test', chunk(speech), given);

describe('dropInventedWords', () => {
  beforeEach(() => droppedWords.reset());

  it('drops doubtful words in a pause, with their punctuation, and counts them', async () => {
    const words = [word('Hello', 0.4, 1), word('Thank', 3, 3.2), word('you', 3.2, 3.5), word('again', 5, 6, 0.8)];
    const left = drop(transcript(words, 'Hello, Thank you. again!'));
    expect(left.text).toBe('Hello, again!');
    expect(left.words.map((each) => each.word)).toEqual(['Hello', 'again']);
    expect(left.confidence).toBeCloseTo(0.55);
    expect(await dropped('silence')).toBe(2);
  });

  it.each([
    ['that the engine trusts', word('yes', 3, 3.5, 0.6)],
    ['that reaches into speech', word('yes', 1.9, 3.5)],
    ['near speech, as the times of engines are not exact', word('yes', 2.2, 2.6)],
  ])('keeps a word %s', (_, kept) => {
    const given = transcript([word('Hello', 0.4, 1), kept]);
    expect(drop(given)).toBe(given);
  });

  it.each([
    [2.5, 3, 0.3, true],
    [2.4, 3, 0.3, false],
    [4, 4.5, 0.3, true],
    [4, 4.6, 0.3, false],
    [3, 3.5, 0.49, true],
    [3, 3.5, 0.5, false],
    [3, 3.5, null, true],
    [0.4, 1, 0.1, false],
  ])('of a word from %s to %s s with the confidence %s: dropped is %s', (start, end, confidence, isDropped) => {
    const given = transcript([word('Hello', 0.4, 1), word('yes', start, end, confidence)]);
    expect(drop(given).text).toBe(isDropped ? 'Hello' : 'Hello yes');
  });

  it('drops the word that it means where the same word stands twice', () => {
    const left = drop(transcript([word('you', 0.4, 1), word('you', 3, 3.5)], 'you, you.'));
    expect(left).toMatchObject({ text: 'you,', words: [{ start: 0.4 }] });
  });

  it('takes the confidence of the whole where a word that is left has none', () => {
    const words = [word('Hello', 0.4, 1, null), word('there', 1, 1.5, 0.2), word('you', 3, 3.5)];
    expect(drop(transcript(words)).confidence).toBe(0.9);
  });

  it('keeps every word when only the level of the sound is known', () => {
    const given = transcript([word('Hello', 3, 3.5)]);
    expect(dropInventedWords('test', chunk(), given)).toBe(given);
  });

  it('keeps words that are not in the text, because it could not be corrected', () => {
    const given = transcript([word('Hello', 3, 3.5)], 'Something else');
    expect(drop(given)).toBe(given);
  });

  it('becomes empty when every word was invented', () => {
    expect(drop(transcript([word('you', 3, 3.5)]))).toMatchObject({ text: '', words: [] });
  });

  describe('repetitions', () => {
    const phrase = (times: number, seconds: number): TranscriptWord[] =>
      Array.from({ length: times * 2 }, (_, index) => {
        const length = seconds / (times * 2);
        return word(index % 2 === 0 ? 'Thank' : 'you.', 5 + index * length, 5 + (index + 1) * length, 0.95);
      });

    it('drops repeats that are faster than anybody speaks, and keeps the first', async () => {
      const left = drop(transcript([word('Hello.', 0.4, 1, 0.9), ...phrase(20, 1)]));
      expect(left.text).toBe('Hello. Thank you.');
      expect(left.words).toHaveLength(3);
      expect(await dropped('repetition')).toBe(38);
    });

    it('drops repeats in a pause, however sure the engine is', () => {
      const words = phrase(6, 2).map((each, index) => ({ ...each, start: index / 10 + 3, end: index / 10 + 3.05 }));
      expect(drop(transcript(words)).text).toBe('Thank you.');
    });

    it('keeps what a person can say', () => {
      const given = transcript(phrase(8, 2));
      expect(drop(given)).toBe(given);
    });

    it.each([
      [0.99, 'Thank you.'],
      [1.01, Array(6).fill('Thank you.').join(' ')],
    ])('takes 12 words in %s s, and no slower ones, for too fast', (seconds, text) => {
      expect(drop(transcript(phrase(6, seconds))).text).toBe(text);
    });

    it('keeps repetitions of an engine that gives no times', () => {
      const given = transcript(phrase(8, 0));
      expect(drop(given)).toBe(given);
    });

    it('keeps a phrase that is said four times, at any speed', () => {
      const given = transcript([word('So', 0.4, 1, 0.9), ...phrase(4, 0.1)]);
      expect(drop(given)).toBe(given);
    });
  });
});

const words = (text: string): string[] => text.split(' ');

describe('findLoops', () => {
  it.each([
    ['one word', 'no no no no no', { start: 0, phrase: 1, end: 5 }],
    [
      'a phrase, whatever its case and punctuation',
      'So thank you. Thank you, thank you thank you THANK YOU!',
      { start: 1, phrase: 2, end: 11 },
    ],
    ['whole repeats only', 'thank you thank you thank you thank you thank you thank', { start: 0, phrase: 2, end: 10 }],
  ])('finds the loop of %s', (_, text, loop) => {
    expect(findLoops(words(text))).toEqual([loop]);
  });

  it.each(['', 'a b c d e f', 'no no no no', 'row row row your boat', 'one two one two one two one two'])(
    'finds none in %j',
    (text) => {
      expect(findLoops(words(text))).toEqual([]);
    },
  );

  it('finds several', () => {
    expect(findLoops(words('a a a a a b c c c c c c'))).toHaveLength(2);
  });

  it('takes little time for long texts', () => {
    const cpuMs = startCpuTime();
    findLoops(Array.from({ length: 20_000 }, (_, index) => `${index % 11}${index % 7}`));
    expect(cpuMs()).toBeLessThan(1000);
  });
});

describe('withoutRepeats', () => {
  it('keeps the first of each phrase and everything else', () => {
    expect(withoutRepeats('And then, thank you. Thank you. Thank you. Thank you. Thank you. Bye')).toBe(
      'And then, thank you. Bye',
    );
  });
});
