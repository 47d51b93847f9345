import { safeText } from './response-text.js';

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
