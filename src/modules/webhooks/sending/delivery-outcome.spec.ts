import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { readResponse, safeText } from './delivery-outcome.js';

describe('safeText', () => {
  it.each([
    ['text, with its lines and tabs', Buffer.from('ok\r\n\tdone – 👍'), 'ok\r\n\tdone – 👍'],
    ['nothing', Buffer.alloc(0), ''],
    ['a character that was cut', Buffer.from('ok👍').subarray(0, 4), 'ok'],
    ['bytes that are no text', Buffer.from([0x61, 0xff, 0xfe, 0x62]), 'a\ufffd\ufffdb'],
    ['NUL and escape sequences', Buffer.from('\u0000\u001b[31m\u007f\u0085'), '\ufffd\ufffd[31m\ufffd\ufffd'],
    ['marks that turn text around', Buffer.from('a\u202eb\u2066c'), 'a\ufffdb\ufffdc'],
    ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80]), '\ufffd\ufffd\ufffd'],
  ])('takes %s', (_, bytes, text) => expect(safeText(bytes)).toBe(text));

  it('never has more characters than there were bytes, and none that Postgres refuses', () => {
    const bytes = Buffer.from(Array.from({ length: 1024 }, (_, i) => (i * 7) % 256));
    const text = safeText(bytes);
    expect(text.length).toBeLessThanOrEqual(1024);
    expect(text).not.toContain('\u0000');
    expect(text.isWellFormed()).toBe(true);
  });
});

type Body = Dispatcher.ResponseData['body'];

/** A body that the test sends piece by piece. */
const open = () => new Readable({ read: () => undefined });
const asBody = (stream: Readable) => stream as unknown as Body;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('readResponse', () => {
  afterEach(() => jest.useRealTimers());

  it('keeps the first 1024 bytes, also of several pieces', async () => {
    const body = Readable.from([Buffer.alloc(1000, 'a'), Buffer.alloc(100, 'b'), Buffer.alloc(100, 'c')]);
    expect(await readResponse(asBody(body))).toBe('a'.repeat(1000) + 'b'.repeat(24));
  });

  it('reads 4096 bytes to the end, and hangs up on more', async () => {
    const [enough, more] = [open(), open()];
    const texts = [enough, more].map((body) => readResponse(asBody(body)));
    enough.push(Buffer.alloc(4096, 'x'));
    more.push(Buffer.alloc(4097, 'x'));
    await settled();
    expect([enough.destroyed, more.destroyed]).toEqual([false, true]);
    enough.push(null);
    expect(await Promise.all(texts)).toEqual(Array(2).fill('x'.repeat(1024)));
  });

  it('hangs up after a second, and gives what has come', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const body = open();
    const text = readResponse(asBody(body));
    body.push('so far');
    await settled();
    jest.advanceTimersByTime(999);
    expect(body.destroyed).toBe(false);
    jest.advanceTimersByTime(1);
    expect(await text).toBe('so far');
  });

  it('gives what has come before an error, and nothing of an empty or a closed body', async () => {
    const failing = open();
    const text = readResponse(asBody(failing));
    failing.push('half of');
    await settled();
    failing.destroy(new Error('reset'));
    expect(await text).toBe('half of');
    expect(await readResponse(asBody(Readable.from([])))).toBe('');
    expect(await readResponse({ closed: true } as unknown as Body)).toBe('');
  });
});
