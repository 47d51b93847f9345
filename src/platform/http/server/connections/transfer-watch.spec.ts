import type { Socket } from 'node:net';
import { type Exchange, TransferWatch } from './transfer-watch.js';

const LIMITS = { minTransferRate: 1000, transferGraceSeconds: 2 };
const START = 50_000;

describe('TransferWatch', () => {
  let socket: { bytesRead: number; bytesWritten: number; writableLength: number };
  let request: { complete: boolean; readableLength: number };
  let watch: TransferWatch;

  beforeEach(() => {
    socket = { bytesRead: 500, bytesWritten: 700, writableLength: 0 };
    request = { complete: false, readableLength: 0 };
    const exchange = { request, response: {} } as unknown as Exchange;
    watch = new TransferWatch(exchange, socket as Socket, LIMITS, START);
  });

  const askAt = (ms: number) => watch.tooSlow(START + ms);

  describe('of a body', () => {
    it('lets the grace pass, and then requires the rate from the end of the grace on', () => {
      expect([askAt(0), askAt(1999), askAt(2000)]).toEqual([null, null, null]);
      expect(askAt(2001)).toBe('body');
      socket.bytesRead = 500 + 1000;
      expect([askAt(3000), askAt(3001)]).toEqual([null, 'body']);
    });

    it('counts what came before the watch for nothing', () => {
      socket.bytesRead = 500 + 3999;
      expect(askAt(6000)).toBe('body');
      socket.bytesRead = 500 + 4000;
      expect(askAt(6000)).toBeNull();
    });

    it('ends with the body', () => {
      request.complete = true;
      expect(askAt(1e6)).toBeNull();
    });

    it('does not count the time in which the service has not read what came', () => {
      request.readableLength = 1;
      expect([askAt(1000), askAt(9000)]).toEqual([null, null]);
      request.readableLength = 0;
      expect([askAt(11_000), askAt(11_001)]).toEqual([null, 'body']);
    });
  });

  describe('of a response', () => {
    beforeEach(() => {
      request.complete = true;
    });

    it('is not measured while nothing waits to be sent', () => {
      expect(askAt(1e6)).toBeNull();
    });

    it('lets the grace pass, and then requires the rate of what has left', () => {
      [socket.bytesWritten, socket.writableLength] = [10_000, 4000];
      expect(askAt(1000)).toBeNull();
      // Of 6000 bytes that have left before, 4000 more are due after 4 s and the grace.
      expect(askAt(1000 + 2000 + 4000)).toBeNull();
      expect(askAt(1000 + 2000 + 4001)).toBe('response');
      socket.bytesWritten = 10_001;
      expect(askAt(1000 + 2000 + 4001)).toBeNull();
    });

    it('begins again when everything has left', () => {
      [socket.bytesWritten, socket.writableLength] = [10_000, 4000];
      askAt(0);
      socket.writableLength = 0;
      askAt(1000);
      socket.writableLength = 4000;
      expect([askAt(5000), askAt(5000 + 2000 + 4000)]).toEqual([null, null]);
      expect(askAt(5000 + 2000 + 4001)).toBe('response');
    });
  });

  it('tells of the body first', () => {
    [socket.bytesWritten, socket.writableLength] = [10_000, 4000];
    askAt(0);
    expect(askAt(1e6)).toBe('body');
  });
});
