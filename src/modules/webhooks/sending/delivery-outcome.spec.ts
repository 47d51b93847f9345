import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import { DeliveryAttemptError, describeError, readResponse, safeText } from './delivery-outcome.js';

const coded = (code: string) => Object.assign(new Error('to 10.0.0.1:443'), { code });

describe('describeError (D39)', () => {
  it.each([
    ['ECONNREFUSED', 'connect'],
    ['EHOSTUNREACH', 'connect'],
    ['ENETUNREACH', 'connect'],
    ['ETIMEDOUT', 'timeout'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'reset'],
    ['UND_ERR_SOCKET', 'reset'],
    ['UND_ERR_HEADERS_OVERFLOW', 'reset'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
    ['EPROTO', 'tls'],
  ])('%s is %s', (code, kind) => {
    const { kind: found, message } = describeError(coded(code));
    expect(found).toBe(kind);
    expect(message).not.toContain('10.0.0.1');
  });

  it('keeps what ended an attempt, and takes what is no HTTP for a reset', () => {
    expect(describeError(new DeliveryAttemptError('dns', 'no such name'))).toMatchObject({
      kind: 'dns',
      message: 'no such name',
    });
    expect(describeError(new errors.HTTPParserError('x')).kind).toBe('reset');
    expect(describeError(null).kind).toBe('connect');
  });
});

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
