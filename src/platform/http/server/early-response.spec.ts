import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { RateLimitError, RequestTimeoutError } from '../../errors/errors.js';
import { answerUnparsable, discardRemainingBody, endWithError } from './early-response.js';
import { assignRequestId, requestIdOf } from '../../observability/request-log.middleware.js';
import { type CheckedRequest, originForm, validateRequestLine } from './request-line.js';

const GRACE_MS = 1000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

describe('an answer without a response object', () => {
  let socket: { writable: boolean; writableEnded: boolean; answer: string; destroyed: boolean };

  beforeEach(() => {
    socket = { writable: true, writableEnded: false, answer: '', destroyed: false };
    Object.assign(socket, {
      end: (text: string) => (socket.answer = text),
      destroy: () => (socket.destroyed = true),
    });
  });

  it('is whole HTTP with the error, its Retry-After and an id, and closes the connection after a second', () => {
    endWithError(socket as unknown as Socket, new RateLimitError(7));
    const [head = '', body = ''] = socket.answer.split('\r\n\r\n');
    const [status, ...headers] = head.split('\r\n');
    expect(status).toBe('HTTP/1.1 429 Too Many Requests');
    expect(headers).toEqual([
      expect.stringMatching(/^X-Request-Id: [\da-f-]{36}$/),
      'Retry-After: 7',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ]);
    expect(JSON.parse(body)).toMatchObject({ success: false, error: { code: 4003, type: 'RateLimitError' } });
    jest.advanceTimersByTime(GRACE_MS - 1);
    expect(socket.destroyed).toBe(false);
    jest.advanceTimersByTime(1);
    expect(socket.destroyed).toBe(true);
  });

  it('says nothing of a retry where there is none, and counts bytes, not characters', () => {
    endWithError(socket as unknown as Socket, new RequestTimeoutError('zu spät'));
    expect(socket.answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(socket.answer).not.toContain('Retry-After');
    const body = socket.answer.split('\r\n\r\n')[1] as string;
    expect(socket.answer).toContain(`Content-Length: ${body.length + 1}\r\n`);
  });

  it('is not sent where nobody can take it', () => {
    socket.writable = false;
    endWithError(socket as unknown as Socket, new RateLimitError(1));
    expect([socket.answer, socket.destroyed]).toEqual(['', true]);
  });

  it.each([
    ['HPE_HEADER_OVERFLOW', 431, 'The URL and the headers are larger than 8 KB.'],
    ['ERR_HTTP_REQUEST_TIMEOUT', 408, 'The request did not arrive in time.'],
    ['HPE_INVALID_METHOD', 400, 'The request is not valid HTTP/1.1.'],
    [undefined, 400, 'The request is not valid HTTP/1.1.'],
  ])('to a request that Node refuses with %s is %d', (code, status, message) => {
    answerUnparsable(Object.assign(new Error('refused'), { code }), socket as unknown as Socket);
    expect(socket.answer).toContain(`HTTP/1.1 ${status} `);
    expect(socket.answer).toContain(message);
  });

  it('is not sent twice, nor to a client that is gone', () => {
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    answerUnparsable(reset, socket as unknown as Socket);
    expect([socket.answer, socket.destroyed]).toEqual(['', true]);
    [socket.writableEnded, socket.destroyed] = [true, false];
    answerUnparsable(reset, socket as unknown as Socket);
    expect([socket.answer, socket.destroyed]).toEqual(['', false]);
  });
});

describe('the rest of a body that nobody reads', () => {
  function drop(request: object, shouldKeepAlive = true) {
    const calls: string[] = [];
    const socket = { destroy: () => calls.push('destroy'), end: () => calls.push('end') };
    const all = Object.assign(new EventEmitter(), { complete: false, destroyed: false, socket }, request, {
      unpipe: () => calls.push('unpipe'),
      resume: () => calls.push('resume'),
    });
    const response = Object.assign(new EventEmitter(), { shouldKeepAlive });
    discardRemainingBody(all as unknown as IncomingMessage, response as unknown as ServerResponse);
    return { calls, request: all, response };
  }

  it('is discarded for a second after the response, and then the connection is destroyed', () => {
    const { calls, response } = drop({});
    expect(calls).toEqual(['unpipe', 'resume']);
    jest.advanceTimersByTime(10 * GRACE_MS);
    response.emit('finish');
    jest.advanceTimersByTime(GRACE_MS - 1);
    expect(calls).toHaveLength(2);
    jest.advanceTimersByTime(1);
    expect(calls.at(-1)).toBe('destroy');
  });

  it('leaves the connection open when it ends in that time', () => {
    const { calls, request, response } = drop({});
    response.emit('finish');
    request.complete = true;
    jest.advanceTimersByTime(GRACE_MS);
    expect(calls).toHaveLength(2);
  });

  it('keeps a last response open until it has ended, and closes the connection then', () => {
    const early = drop({}, false);
    expect(early.response.shouldKeepAlive).toBe(true);
    early.response.emit('finish');
    expect(early.calls).not.toContain('end');
    early.request.emit('end');
    expect(early.calls.at(-1)).toBe('end');
    const late = drop({}, false);
    late.request.complete = true;
    late.response.emit('finish');
    expect(late.calls.at(-1)).toBe('end');
  });

  it.each([{ complete: true }, { destroyed: true }])('needs nothing with %j', (request) => {
    const { calls, response } = drop(request, false);
    expect([calls, response.shouldKeepAlive]).toEqual([[], false]);
  });
});

describe('the id of a request', () => {
  it.each([
    ['a', true],
    ['A-z_9'.padEnd(64, 'x'), true],
    ['x'.repeat(65), false],
    ['', false],
    ['a b', false],
    ['ä', false],
    ['a\n', false],
    [undefined, false],
  ])('%j of the client is kept: %s', (id, isKept) => {
    const request = { headers: { 'x-request-id': id } } as unknown as IncomingMessage;
    const setHeader = jest.fn();
    assignRequestId(request, { setHeader } as unknown as ServerResponse);
    expect(requestIdOf(request)).toEqual(isKept ? id : expect.stringMatching(/^[\da-f-]{36}$/));
    expect(setHeader.mock.calls).toEqual([['X-Request-Id', requestIdOf(request)]]);
  });

  it('is unknown before it was assigned', () => {
    expect(requestIdOf({} as IncomingMessage)).toBe('unknown');
  });
});

describe('the first line of a request', () => {
  it.each([
    ['/v1?a=b', '/v1?a=b'],
    ['*', '*'],
    ['http://host/v1?a', '/v1?a'],
    ['HTTPS://host:1', '/'],
    ['http://host?a', '/?a'],
    ['v1', '/v1'],
  ])('%s asks for %s', (target, path) => {
    expect(originForm(target)).toBe(path);
  });

  function check(path: string, rawHeaders: string[], httpVersion = '1.1') {
    const request = { path, url: path, rawHeaders, httpVersion } as unknown as CheckedRequest;
    const next = jest.fn();
    validateRequestLine(request, {} as Response, next);
    expect(next).toHaveBeenCalledTimes(1);
    return { error: next.mock.calls[0]?.[0] as Error | undefined, request };
  }

  it.each<[string[], string, boolean]>([
    [['Host', 'a'], '1.1', true],
    [['hOST', 'a', 'X', 'host'], '1.1', true],
    [['Host', 'a', 'Host', 'a'], '1.1', false],
    [['Host', 'a', 'Host', 'a'], '1.0', false],
    [[], '1.1', false],
    [[], '1.0', true],
  ])('with %j in HTTP/%s has the one Host header that it needs: %s', (headers, version, fits) => {
    const { error } = check('/health', headers, version);
    expect(error?.message).toBe(fits ? undefined : 'Exactly one Host header is required.');
  });

  it('may not have a broken percent-encoding', () => {
    expect(check('/a%2', ['Host', 'a']).error?.message).toBe('The URL has a malformed percent-encoding.');
    expect(check('/a%20', ['Host', 'a']).error).toBeUndefined();
  });

  it('that is wrong under /v1 passes the guards before it is refused', () => {
    const { error, request } = check('/v1/a%2', ['Host', 'a']);
    expect([error, (request as Request).url, request.requestLineError?.status]).toEqual([undefined, '/v1', 400]);
    expect(check('/v1/a', ['Host', 'a']).request).toMatchObject({ url: '/v1/a' });
  });
});
