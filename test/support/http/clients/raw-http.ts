import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** An answer as it came; names of headers in lower case. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
  /** Of a JSON answer; null for any other. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as supertest gives it
  body: any;
  /** Milliseconds from the opening of the connection until the answer was complete. */
  afterMs: number;
}

const ANSWER_MS = 20_000;

/**
 * A connection that carries exactly the bytes it is given: for what a client library would repair or refuse to send.
 * When the server ends its half, this one stays open: a server that wants to be rid of it must do more.
 */
export class RawConnection {
  /** Resolves when the connection has ended, on either side, with the milliseconds until then. */
  readonly closed: Promise<number>;
  private static readonly all = new Set<RawConnection>();
  /** `age` when the server ended its half. */
  endedAfterMs: number | null = null;
  private readonly opened = performance.now();
  private received = Buffer.alloc(0);
  private isOver = false;

  private constructor(private readonly socket: Socket) {
    RawConnection.all.add(this);
    // Errors are ends like others here: a reset by the server is what some tests wait for.
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      this.received = Buffer.concat([this.received, bytes]);
    });
    socket.on('end', () => (this.endedAfterMs = this.age));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.endedAfterMs ??= this.age;
        this.isOver = true;
        RawConnection.all.delete(this);
        resolve(this.age);
      });
    });
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  /** Breaks off what tests have left open, those that failed for instance. */
  static destroyAll(): void {
    for (const connection of RawConnection.all) connection.destroy();
  }

  /** Milliseconds since the connection was opened. */
  get age(): number {
    return performance.now() - this.opened;
  }

  /** Sends, and waits until the bytes have left this process. @returns whether the connection still takes more */
  async send(bytes: Buffer | string): Promise<boolean> {
    if (this.isOver || !this.socket.writable) return false;
    const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    return await new Promise((resolve) => {
      void this.closed.then(() => resolve(false));
      this.socket.write(data, (error) => resolve(!error));
    });
  }

  /** The next complete answer. @throws Error when it does not come within `ms`, or when the connection ends before. */
  async answer(ms = ANSWER_MS): Promise<Answer> {
    const deadline = performance.now() + ms;
    for (;;) {
      const last = this.isOver;
      const answer = this.takeAnswer();
      if (answer) return answer;
      if (last) throw new Error(`the connection ended without an answer: ${JSON.stringify(this.unread)}`);
      if (performance.now() > deadline) throw new Error(`no answer within ${ms} ms: ${JSON.stringify(this.unread)}`);
      await this.change(deadline - performance.now());
    }
  }

  /** What has come and has not been taken as an answer. */
  get unread(): string {
    return this.received.toString('latin1');
  }

  /** Sends the same again and again until the server breaks the connection. @returns how often, and `age` then. */
  async flood(bytes: Buffer, pauseMs = 0, limitMs = 30_000): Promise<{ times: number; brokenAfterMs: number }> {
    let times = 0;
    while (await this.send(bytes)) {
      times++;
      if (this.age > limitMs) throw new Error(`the connection still takes bytes after ${limitMs} ms`);
      if (pauseMs > 0) await delay(pauseMs);
    }
    return { times, brokenAfterMs: this.age };
  }

  /** From now on nothing is read: the buffers of both sides fill up. */
  stopReading(): void {
    this.socket.pause();
  }

  resumeReading(): void {
    this.socket.resume();
  }

  /** Ends our half: nothing more will be sent. */
  end(): void {
    this.socket.end();
  }

  /** Breaks off, as a phone does that loses its network. */
  destroy(): void {
    this.socket.resetAndDestroy();
  }

  /** Resolves with the next bytes, at the end of the connection, or after `ms`. */
  private async change(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.socket.off('data', done).off('close', done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(ms, 0) + 1);
      this.socket.on('data', done).on('close', done);
    });
  }

  private takeAnswer(): Answer | null {
    const text = this.received.toString('latin1');
    const headEnd = text.indexOf('\r\n\r\n');
    if (headEnd < 0) return null;
    const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const end = headEnd + 4 + Number(headers['content-length'] ?? 0);
    if (text.length < end) return null;
    const body = this.received.toString('utf8', headEnd + 4, end);
    this.received = this.received.subarray(end);
    if (status >= 100 && status < 200) return this.takeAnswer();
    const isJson = headers['content-type']?.startsWith('application/json') && body !== '';
    return { status, headers, text: body, body: isJson ? JSON.parse(body) : null, afterMs: this.age };
  }
}

export type Header = [name: string, value: string | number];

/** The head of a request, with a Host header and whatever else is given, in order; a name may come twice. */
export function head(method: string, target: string, headers: Header[] = []): string {
  const lines = [['Host', 'voice-notes.test'], ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Sends the bytes on a connection of their own, and gives the answer, whenever it comes. */
export async function exchange(url: string, ...wire: (Buffer | string)[]): Promise<Answer> {
  const connection = await RawConnection.open(url);
  try {
    for (const bytes of wire) if (!(await connection.send(bytes))) break;
    return await connection.answer();
  } finally {
    connection.destroy();
  }
}

/** One chunk of a body with `Transfer-Encoding: chunked`; an empty one ends the body. */
export function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
