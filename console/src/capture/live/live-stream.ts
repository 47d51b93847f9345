import { FINISH, isRefusal, type LiveMessage, messageOf } from './live-messages';

/** Before each further attempt to connect. The service ends a recording a minute after its last audio. */
const RETRY_MS = [250, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000];
/** Of a service that was never reached, the page does not learn whether it refuses or the network fails. */
const MOST_FRUITLESS_AT_FIRST = 2;
/** When the recording is finished, a person waits for it. */
const MOST_FRUITLESS_AT_END = 3;
/** What was sent is acknowledged long before that on a connection that works. */
const STALLED_MS = 15_000;
/** Once everything is stored, the end of the recording is a formality. */
const END_MS = 5000;

/** State of a WebSocket that sends. */
const OPEN = 1;
/** A code without which the service takes a closed connection for the end of the recording. */
const RECONNECTING = 3000;

interface LiveStreamOptions {
  /** @param recordingId to go on with; null for a new recording */
  connect: (recordingId: string | null) => WebSocket;
  onMessage: (message: LiveMessage) => void;
  /** Nothing more is sent: the audio has to go another way. @param reason as the service says it; empty if it says none */
  onFail: (reason: string) => void;
}

interface Part {
  offset: number;
  bytes: Uint8Array;
}

/** Sends a recording while it is made. What is not acknowledged is kept, and sent again after a lost connection. */
export class LiveStream {
  recordingId: string | null = null;
  private socket: WebSocket | null = null;
  /** Whether the service takes audio on this connection. */
  private isOpen = false;
  /** What is not stored yet. */
  private parts: Part[] = [];
  private size = 0;
  private sent = 0;
  private stored = 0;
  /** Connections in a row on which nothing was stored. */
  private fruitless = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private deadline: ReturnType<typeof setTimeout> | undefined;
  private reason = '';
  private settle: ((isWhole: boolean) => void) | null = null;
  private isOver = false;

  constructor(private readonly options: LiveStreamOptions) {
    this.connect();
  }

  append(bytes: ArrayBuffer): void {
    if (this.isOver) return;
    this.parts.push({ offset: this.size, bytes: new Uint8Array(bytes) });
    this.size += bytes.byteLength;
    this.sendMore();
  }

  /** Nothing is appended after it. @returns whether the service has every byte */
  async finish(): Promise<boolean> {
    if (this.isOver) return false;
    return await new Promise((resolve) => {
      this.settle = resolve;
      this.sendMore();
    });
  }

  /** Sends nothing more. What the service has is left to the caller. */
  abandon(): void {
    this.end(false);
  }

  private connect(): void {
    const socket = this.options.connect(this.recordingId);
    this.retry = undefined;
    this.socket = socket;
    socket.addEventListener('message', ({ data }) => this.socket === socket && this.heed(messageOf(data)));
    socket.addEventListener('close', ({ code, reason }) => this.socket === socket && this.lose(code, reason));
    this.watch();
  }

  private heed(message: LiveMessage | null): void {
    if (!message) return;
    if (message.type === 'started') this.open(message.recording_id, 0);
    else if (message.type === 'resumed') this.open(message.recording_id, message.stored_bytes);
    else if (message.type === 'stored') this.acknowledge(message.bytes);
    else if (message.type === 'error') this.reason = message.error.message;
    this.options.onMessage(message);
    if (message.type === 'ended' && this.settle && this.isIdle) this.end(true);
  }

  private open(recordingId: string, storedBytes: number): void {
    this.recordingId = recordingId;
    this.isOpen = true;
    this.sent = storedBytes;
    this.acknowledge(storedBytes);
    this.sendMore();
  }

  private acknowledge(storedBytes: number): void {
    if (storedBytes > this.stored) this.fruitless = 0;
    this.stored = storedBytes;
    this.parts = this.parts.filter(({ offset, bytes }) => offset + bytes.length > storedBytes);
    this.unwatch();
    this.watch();
  }

  private sendMore(): void {
    if (!this.socket && this.retry === undefined) this.connect();
    if (!this.isOpen || this.socket?.readyState !== OPEN) return;
    for (const { offset, bytes } of this.parts) {
      const from = Math.max(0, this.sent - offset);
      if (from < bytes.length) this.socket.send(bytes.slice(from));
    }
    this.sent = this.size;
    if (this.settle) this.socket.send(FINISH);
    this.watch();
  }

  private lose(code: number, reason: string): void {
    [this.isOpen, this.socket, this.sent] = [false, null, 0];
    this.unwatch();
    if (this.isOver) return;
    // A recording that nobody goes on with is ended by the service.
    if (this.settle && this.recordingId !== null && this.stored === this.size) return this.end(true);
    if (isRefusal(code)) return this.fail(this.reason || reason);
    if (this.fruitless >= this.mostFruitless) return this.fail(this.reason || reason);
    // While the person makes a pause there is nothing to say: the next audio connects again.
    if (this.parts.length === 0 && !this.settle && this.recordingId !== null) return;
    this.retry = setTimeout(() => this.connect(), RETRY_MS[this.fruitless]);
    this.fruitless += 1;
  }

  private get mostFruitless(): number {
    if (this.recordingId === null) return MOST_FRUITLESS_AT_FIRST;
    return this.settle ? MOST_FRUITLESS_AT_END : RETRY_MS.length;
  }

  /** A connection on which nothing moves may look alive for minutes. What is sent meanwhile is no sign of life. */
  private watch(): void {
    const { socket } = this;
    if (!socket || this.deadline !== undefined || (this.isIdle && !this.settle)) return;
    const give = () => {
      this.deadline = undefined;
      if (this.isIdle) return this.end(true);
      this.lose(0, '');
      socket.close(RECONNECTING);
    };
    this.deadline = setTimeout(give, this.isIdle ? END_MS : STALLED_MS);
  }

  private unwatch(): void {
    clearTimeout(this.deadline);
    this.deadline = undefined;
  }

  /** Whether the service has all that there is. */
  private get isIdle(): boolean {
    return this.isOpen && this.stored === this.size;
  }

  private fail(reason: string): void {
    this.end(false);
    this.options.onFail(reason);
  }

  private end(isWhole: boolean): void {
    this.isOver = true;
    clearTimeout(this.retry);
    this.unwatch();
    const { socket } = this;
    [this.parts, this.socket] = [[], null];
    socket?.close();
    this.settle?.(isWhole);
    this.settle = null;
  }
}
