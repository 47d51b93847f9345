import { type Answer, errorOf, jsonOf, rateLimitOf, textOf } from './answer.js';
import { ConnectionError, InvalidResponseError, isApiError } from './errors.js';

const answer = (text: string, headers: Record<string, string> = {}, status = 200): Answer => ({
  status,
  text,
  headers: new Headers(headers),
});

const BUCKET = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1763720104' };

describe('the body of an answer', () => {
  it('is its JSON, and nothing for 204', () => {
    expect(jsonOf(answer('{"a":1}'))).toEqual({ a: 1 });
    expect(jsonOf(answer('', {}, 204))).toBeUndefined();
  });

  it('is a lost connection when its JSON is cut off, and is refused with another content type', () => {
    const json = { 'Content-Type': 'application/problem+json; charset=utf-8' };
    expect(() => jsonOf(answer('{"a":', json))).toThrow(ConnectionError);
    const html = { 'Content-Type': 'text/html; charset=utf-8' };
    const refused = 'Something else than the service answered, with the type text/html. Check baseUrl, and proxies';
    for (const read of [jsonOf, textOf]) {
      expect(() => read(answer('<p>', html))).toThrow(InvalidResponseError);
      expect(() => read(answer('<p>', html))).toThrow(refused);
    }
    expect(() => jsonOf(answer(''))).toThrow('answered, with no type.');
  });

  it('is its text, of any type but HTML', () => {
    for (const type of ['text/plain', 'text/vtt', '']) {
      expect(textOf(answer('go forward', { 'Content-Type': type }))).toBe('go forward');
    }
  });
});

describe('a refusal', () => {
  it('has the message, the type, the code and the headers of the error response', () => {
    const details = { retry_after: 7 };
    const body = { error: { message: 'Too many requests.', type: 'RateLimitError', code: 429, details } };
    const headers = { ...BUCKET, 'X-Request-Id': 'r-1', 'Retry-After': '7' };
    const error = errorOf(answer(JSON.stringify(body), headers, 429));
    expect({ ...error }).toEqual({
      name: 'ApiError',
      status: 429,
      type: 'RateLimitError',
      code: 429,
      details,
      requestId: 'r-1',
      rateLimit: { limit: 60, remaining: 0, reset: new Date('2025-11-21T10:15:04Z') },
      retryAfter: 7,
    });
    expect(error.message).toBe('Too many requests.');
    expect(isApiError(error, 'RateLimitError')).toBe(true);
  });

  it.each(['<html>', '', 'null', '[]', '{}', '{"error":"no"}', '{"error":null}'])(
    'of a proxy, with the body %j, has its status',
    (text) => {
      const error = errorOf(answer(text, {}, 502));
      expect(error.message).toBe('The service, or a proxy before it, answered 502.');
      expect({ ...error }).toMatchObject({
        status: 502,
        type: 'UnknownError',
        code: null,
        details: {},
        requestId: null,
        rateLimit: null,
        retryAfter: null,
      });
    },
  );

  it.each([
    ['0', 0],
    ['1.5', 1.5],
    [' ', null],
    ['soon', null],
    ['Fri, 21 Nov 2025 10:15:10 GMT', 6],
    ['Fri, 21 Nov 2025 10:00:00 GMT', 0],
  ])('that asks to wait for %j does so for %j seconds', (value, seconds) => {
    jest.useFakeTimers({ now: new Date('2025-11-21T10:15:04.500Z') });
    expect(errorOf(answer('', { 'Retry-After': value }, 503)).retryAfter).toBe(seconds);
    jest.useRealTimers();
  });
});

describe('the bucket of requests', () => {
  it.each(Object.keys(BUCKET))('is unknown without %s', (name) => {
    expect(rateLimitOf(new Headers({ ...BUCKET, [name]: '' }))).toBeNull();
    expect(rateLimitOf(new Headers({ ...BUCKET, [name]: 'x' }))).toBeNull();
  });
});
