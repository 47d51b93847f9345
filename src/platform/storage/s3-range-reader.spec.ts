import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type ByteRange, StorageUnavailableError } from './file-system.js';
import { isRangeOf, readRange } from './s3-range-reader.js';

describe('readRange', () => {
  let asked: { range: ByteRange; signal: AbortSignal; body: PassThrough }[];
  const fetch = async (range: ByteRange, signal: AbortSignal): Promise<Readable> => {
    const body = new PassThrough();
    body.on('error', () => undefined);
    asked.push({ range, signal, body });
    return body;
  };

  beforeEach(() => {
    asked = [];
  });

  it('reads one response to the last byte of the range, and then ends it', async () => {
    const stream = await readRange({ fetch, stallMs: 1000 }, { start: 10, end: 14 });
    asked[0]?.body.write('he');
    asked[0]?.body.write('llo');
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('hello');
    expect(asked.map(({ range }) => range)).toEqual([{ start: 10, end: 14 }]);
    await delay(1);
    expect([asked[0]?.body.destroyed, asked[0]?.signal.aborted]).toEqual([true, true]);
  });

  it.each([
    ['that ends early', (body: PassThrough) => body.end('he'), 'the object ended early'],
    ['that breaks', (body: PassThrough) => body.destroy(new Error('reset')), 'reset'],
    ['of which nothing arrives', () => undefined, 'nothing arrived for 20 ms'],
  ])('ends with an error after a response %s', async (_, answer, message) => {
    const stream = await readRange({ fetch, stallMs: 20 }, { start: 0, end: 4 });
    answer(asked[0]?.body as PassThrough);
    const error: unknown = await stream.toArray().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StorageUnavailableError);
    expect((error as Error).message).toContain(message);
  });

  it.each(['the stream', 'the signal'])('ends the request under way with %s', async (what) => {
    const controller = new AbortController();
    const stream = await readRange({ fetch, stallMs: 1000 }, { start: 0, end: 4 }, controller.signal);
    stream.on('error', () => undefined);
    if (what === 'the stream') stream.destroy();
    else {
      asked[0]?.body.write('h');
      await stream[Symbol.asyncIterator]().next();
      controller.abort();
    }
    await delay(1);
    expect([asked[0]?.body.destroyed, asked[0]?.signal.aborted]).toEqual([true, true]);
  });

  it('lets go of a response that its reader leaves for 2 s, and goes on with the next byte in another', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    try {
      const stream = await readRange({ fetch, stallMs: 10_000 }, { start: 10, end: 14 });
      const chunks = stream[Symbol.asyncIterator]();
      asked[0]?.body.write('he');
      const first = (await chunks.next()) as { value: Buffer };
      asked[0]?.body.write('l');
      for (let i = 0; i < 5; i++) await new Promise((resolve) => void setImmediate(resolve));
      jest.advanceTimersByTime(1999);
      expect(asked[0]?.body.destroyed).toBe(false);
      jest.advanceTimersByTime(1);
      expect(asked[0]?.body.destroyed).toBe(true);
      const second = (await chunks.next()) as { value: Buffer };
      const third = chunks.next() as Promise<{ value: Buffer }>;
      for (let i = 0; i < 5; i++) await new Promise((resolve) => void setImmediate(resolve));
      expect(asked.map(({ range }) => range)).toEqual([
        { start: 10, end: 14 },
        { start: 13, end: 14 },
      ]);
      asked[1]?.body.write('lo');
      expect(Buffer.concat([first.value, second.value, (await third).value]).toString()).toBe('hello');
      stream.destroy();
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('isRangeOf', () => {
  it.each([
    ['bytes 10-14/100', 5, true],
    ['bytes 10-14/*', 5, true],
    ['bytes 10-14/100', 4, false],
    ['bytes 10-14/100', undefined, false],
    ['bytes 10-13/100', 5, false],
    ['bytes 1-14/100', 5, false],
    ['bytes 10-140/1000', 5, false],
    [undefined, 5, false],
  ])('%s with a length of %s is bytes 10 to 14: %s', (contentRange, length, is) => {
    expect(isRangeOf({ start: 10, end: 14 }, contentRange, length)).toBe(is);
  });
});
