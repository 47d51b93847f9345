import type { PartOfText } from '../../recordings/recordings.events.js';
import type { WrittenText } from '../partial-texts.service.js';
import { type HeardChunk, PartialTextWriter } from './partial-text-writer.js';

describe('PartialTextWriter', () => {
  let stored: WrittenText;
  let parts: PartOfText[];
  let answers: (boolean | Error)[];
  let problems: unknown[];
  let writer: PartialTextWriter;

  const newWriter = (): PartialTextWriter =>
    new PartialTextWriter({
      written: async () => stored,
      write: async (part) => {
        const answer = answers.shift() ?? true;
        if (answer instanceof Error) throw answer;
        if (answer) {
          parts.push(part);
          stored = { parts: part.index + 1, end: part.end };
        }
        return answer;
      },
      failed: (error) => void problems.push(error),
    });
  const settled = () => new Promise((resolve) => void setImmediate(resolve));
  const hear = async (from: number, to: number, step = 10): Promise<void> => {
    for (let start = from; start < to; start += step) {
      writer.add({ start, end: start + step, text: `at ${start}`, isOnly: start === 0 && to === step });
      await settled();
    }
  };

  beforeEach(() => {
    stored = { parts: 0, end: 0 };
    [parts, answers, problems] = [[], [], []];
    writer = newWriter();
  });

  it('writes parts of at least 15 s in order, without a gap, and the rest at the end', async () => {
    await hear(0, 50);
    expect(parts).toEqual([
      { index: 0, start: 0, end: 20, text: 'at 0 at 10' },
      { index: 1, start: 20, end: 40, text: 'at 20 at 30' },
    ]);
    await writer.end();
    expect(parts[2]).toEqual({ index: 2, start: 40, end: 50, text: 'at 40' });
    await writer.end();
    expect(parts).toHaveLength(3);
  });

  it('writes nothing of a note of one chunk, or of a short one', async () => {
    await hear(0, 30, 30);
    await writer.end();
    writer = newWriter();
    await hear(0, 14, 7);
    await writer.end();
    expect(parts).toEqual([]);
  });

  it('has about two hundred parts for ten hours', async () => {
    for (let start = 0; start < 36_000; start += 10) {
      writer.add({ start, end: start + 10, text: 'x', isOnly: false });
      if (start % 50 === 0) await settled();
    }
    await settled();
    await writer.end();
    expect(parts.length).toBeLessThan(300);
    expect(parts.map(({ text }) => text).join(' ')).toHaveLength(2 * 3600 - 1);
    expect(parts.map(({ index }) => index)).toEqual(parts.map((_, i) => i));
  });

  it('goes on behind what an earlier attempt has written, and writes none of it again', async () => {
    await hear(0, 50);
    writer = newWriter();
    await hear(0, 60);
    await writer.end();
    expect(parts.map(({ index, start, end }) => [index, start, end])).toEqual([
      [0, 0, 20],
      [1, 20, 40],
      [2, 40, 60],
    ]);
  });

  it('keeps what could not be written for the next part', async () => {
    answers = [new Error('no connection'), false];
    await hear(0, 40);
    expect(problems).toHaveLength(1);
    expect(parts).toEqual([{ index: 0, start: 0, end: 40, text: 'at 0 at 10 at 20 at 30' }]);
  });

  it('drops what another engine says anew', async () => {
    const said = (start: number, text: string): HeardChunk => ({ start, end: start + 10, text, isOnly: false });
    writer.add(said(0, 'first'));
    writer.add(said(0, 'second'));
    writer.add(said(10, 'third'));
    await settled();
    expect(parts).toEqual([{ index: 0, start: 0, end: 20, text: 'second third' }]);
  });
});
