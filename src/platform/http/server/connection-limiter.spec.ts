import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionLimiter, type Exchange, TransferWatch } from './connection-limiter.js';

const LIMITS = {
  maxConnections: 50,
  maxConnectionsPerAddress: 2,
  maxPipelinedRequests: 2,
  minTransferRate: 1000,
  transferGraceSeconds: 2,
  writeTimeoutSeconds: 30,
};

class FakeSocket extends EventEmitter {
  destroyed = false;
  writable = true;
  isPaused = false;
  bytesRead = 0;
  bytesWritten = 0;
  writableLength = 0;
  answer = '';

  constructor(readonly remoteAddress: string | undefined) {
    super();
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }

  end(text = ''): void {
    this.answer = text;
    this.writable = false;
  }

  pause(): void {
    this.isPaused = true;
  }
}

describe('ConnectionLimiter (D50)', () => {
  let server: EventEmitter & Partial<Pick<Server, 'maxConnections' | 'timeout'>>;
  let handled: string[];
  let limiter: ConnectionLimiter;

  function limit(changes: Partial<typeof LIMITS> = {}): void {
    server = new EventEmitter();
    limiter = new ConnectionLimiter({
      limits: { ...LIMITS, ...changes },
      isProxy: (address) => address === '10.9.9.9',
      handle: ({ url }) => void handled.push(url as string),
    });
    limiter.attach(server as unknown as Server);
  }

  beforeEach(() => {
    jest.useFakeTimers();
    handled = [];
    limit();
  });

  afterEach(() => {
    server.emit('close');
    jest.useRealTimers();
  });

  function connect(address: string | null = '10.0.0.1'): FakeSocket {
    const socket = new FakeSocket(address ?? undefined);
    server.emit('connection', socket);
    return socket;
  }

  function send(socket: FakeSocket, url: string) {
    const request = { socket, url, complete: true, readableLength: 0 };
    const response = Object.assign(new EventEmitter(), { closed: false, headersSent: false });
    limiter.serve(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    const close = (): void => {
      response.closed = true;
      response.emit('close');
    };
    return { request, response, close };
  }

  const hits = () => Object.fromEntries(limiter.hits);

  it('gives Node the number of connections and the time-out of writing, and counts what Node drops', () => {
    expect([server.maxConnections, server.timeout]).toEqual([50, 30_000]);
    server.emit('drop');
    server.emit('drop');
    expect(hits()).toEqual({ connections: 2 });
  });

  describe('the connections of one address', () => {
    it('are refused above their number, with the reason, until one is closed', () => {
      const [first] = [connect(), connect()];
      const refused = connect();
      expect(refused.answer).toMatch(/^HTTP\/1\.1 429 .*2 connections at a time/s);
      expect([limiter.open, hits()]).toEqual([2, { connections_per_address: 1 }]);
      refused.destroy();
      expect(connect().answer).toMatch(/ 429 /);
      first.destroy();
      expect([connect().answer, limiter.open]).toEqual(['', 2]);
      expect(connect().answer).toMatch(/ 429 /);
    });

    it('are those of an IPv6 /64, and no other’s', () => {
      for (const address of ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1']) expect(connect(address).answer).toBe('');
      expect(connect('2001:db8::3').answer).toMatch(/ 429 /);
    });

    it('have no limit where a proxy sends them, or the address is not known', () => {
      for (let i = 0; i < 5; i++) expect([connect('10.9.9.9').answer, connect(null).answer]).toEqual(['', '']);
      expect(limiter.open).toBe(10);
    });

    it('that are refused are answered with the reason 64 at a time, and closed without an answer above', () => {
      for (let i = 0; i < 2; i++) connect();
      const refused = Array.from({ length: 66 }, () => connect());
      expect(refused.map(({ answer }) => answer !== '').lastIndexOf(true)).toBe(63);
      expect(refused.map(({ destroyed }) => destroyed).indexOf(true)).toBe(64);
      refused[0]?.destroy();
      expect(connect().answer).not.toBe('');
      expect(hits()).toEqual({ connections_per_address: 67 });
    });
  });

  describe('the requests of one connection', () => {
    it('are handled one after another, in their order', () => {
      const socket = connect();
      const first = send(socket, '/1');
      const second = send(socket, '/2');
      send(socket, '/3');
      expect(handled).toEqual(['/1']);
      first.close();
      expect(handled).toEqual(['/1', '/2']);
      second.close();
      expect(handled).toEqual(['/1', '/2', '/3']);
    });

    it('end the connection when more than the limit wait', () => {
      const socket = connect();
      for (const url of ['/1', '/2', '/3']) send(socket, url);
      expect(socket.destroyed).toBe(false);
      send(socket, '/4');
      expect([socket.destroyed, hits()]).toEqual([true, { pipelined_requests: 1 }]);
    });

    it('are not handled any more when the connection is closed', () => {
      const socket = connect();
      const first = send(socket, '/1');
      send(socket, '/2');
      socket.destroy();
      first.close();
      send(socket, '/3');
      expect(handled).toEqual(['/1']);
    });

    it('of another connection wait for nothing', () => {
      send(connect(), '/1');
      send(connect(), '/2');
      expect(handled).toEqual(['/1', '/2']);
    });

    it('that come after the one before was answered are handled at once', () => {
      const socket = connect();
      send(socket, '/1').close();
      send(socket, '/2');
      expect(handled).toEqual(['/1', '/2']);
    });
  });

  describe('a connection on which nothing moves', () => {
    const idle = (socket: FakeSocket) => server.emit('timeout', socket);

    it('is closed when its client does not read', () => {
      const socket = connect();
      send(socket, '/1');
      socket.writableLength = 1;
      idle(socket);
      expect([socket.destroyed, hits()]).toEqual([true, { write_timeout: 1 }]);
    });

    it('stays while a request waits for the service, and is closed afterwards', () => {
      const socket = connect();
      socket.bytesRead = 10;
      const { close } = send(socket, '/1');
      idle(socket);
      expect(socket.destroyed).toBe(false);
      close();
      idle(socket);
      expect([socket.destroyed, hits()]).toEqual([true, {}]);
    });

    it('stays until its first byte, for which there is another time-out', () => {
      const socket = connect();
      idle(socket);
      expect(socket.destroyed).toBe(false);
    });

    it('is closed when it was refused', () => {
      for (let i = 0; i < 2; i++) connect();
      const refused = connect();
      idle(refused);
      expect(refused.destroyed).toBe(true);
    });
  });

  describe('a slow transfer', () => {
    const SECOND = 1000;

    it('of a body gets 408 with the rule, and nothing more of it is read', () => {
      const socket = connect();
      const { request } = send(socket, '/v1/recordings');
      request.complete = false;
      jest.advanceTimersByTime(3 * SECOND);
      expect(socket.answer).toBe('');
      jest.advanceTimersByTime(SECOND);
      expect(socket.answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(socket.answer).toContain('too slowly: at least 1000 bytes a second are required after 2 seconds.');
      expect([socket.isPaused, hits()]).toEqual([true, { body_rate: 1 }]);
      jest.advanceTimersByTime(10 * SECOND);
      expect(hits()).toEqual({ body_rate: 1 });
      send(socket, '/2');
      expect(handled).toEqual(['/v1/recordings']);
    });

    it('of a body that was answered already is cut', () => {
      const socket = connect();
      const { request, response } = send(socket, '/1');
      [request.complete, response.headersSent] = [false, true];
      jest.advanceTimersByTime(4 * SECOND);
      expect([socket.answer, socket.destroyed, hits()]).toEqual(['', true, { body_rate: 1 }]);
    });

    it('of a response is cut', () => {
      const socket = connect();
      send(socket, '/1');
      [socket.bytesWritten, socket.writableLength] = [2000, 1000];
      jest.advanceTimersByTime(4 * SECOND);
      expect(socket.destroyed).toBe(false);
      jest.advanceTimersByTime(2 * SECOND);
      expect([socket.answer, socket.destroyed, hits()]).toEqual(['', true, { response_rate: 1 }]);
    });

    it('is measured for each request anew', () => {
      const socket = connect();
      const first = send(socket, '/1');
      first.request.complete = false;
      jest.advanceTimersByTime(3 * SECOND);
      first.request.complete = true;
      first.close();
      send(socket, '/2').request.complete = false;
      jest.advanceTimersByTime(3 * SECOND);
      expect(socket.answer).toBe('');
      jest.advanceTimersByTime(SECOND);
      expect(socket.answer).toMatch(/ 408 /);
    });

    it('goes on being measured when the response was sent before the end of the body', () => {
      const socket = connect();
      const { request, response, close } = send(socket, '/1');
      [request.complete, response.headersSent] = [false, true];
      close();
      jest.advanceTimersByTime(4 * SECOND);
      expect([socket.destroyed, hits()]).toEqual([true, { body_rate: 1 }]);
    });

    it('has no limit with a rate of 0, nor after the server was closed', () => {
      limit({ minTransferRate: 0 });
      const socket = connect();
      send(socket, '/1').request.complete = false;
      jest.advanceTimersByTime(60 * SECOND);
      expect(socket.answer).toBe('');
      const timers = jest.getTimerCount();
      server.emit('close');
      expect(jest.getTimerCount()).toBe(timers - 1);
    });
  });
});

const TRANSFER_LIMITS = { minTransferRate: 1000, transferGraceSeconds: 2 };
const START = 50_000;

describe('TransferWatch', () => {
  let socket: { bytesRead: number; bytesWritten: number; writableLength: number };
  let request: { complete: boolean; readableLength: number };
  let watch: TransferWatch;

  beforeEach(() => {
    socket = { bytesRead: 500, bytesWritten: 700, writableLength: 0 };
    request = { complete: false, readableLength: 0 };
    const exchange = { request, response: {} } as unknown as Exchange;
    watch = new TransferWatch(exchange, socket as Socket, TRANSFER_LIMITS, START);
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
