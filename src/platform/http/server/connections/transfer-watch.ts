import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Env } from '../../../config/env.js';

/** A request that was handed over, and its response. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

type TransferLimits = Pick<Env, 'minTransferRate' | 'transferGraceSeconds'>;

/** Where a measurement began: milliseconds and bytes. */
interface Start {
  at: number;
  bytes: number;
}

/** Measures how fast the body of a request arrives and its response is read, each time it is asked. */
export class TransferWatch {
  private readonly body: Start;
  private writing: Start | null = null;
  private askedAt: number;

  constructor(
    readonly exchange: Exchange,
    private readonly socket: Socket,
    private readonly limits: TransferLimits,
    now: number,
  ) {
    this.body = { at: now, bytes: socket.bytesRead };
    this.askedAt = now;
  }

  /** Which of the two is slower than allowed. */
  tooSlow(now: number): 'body' | 'response' | null {
    const sinceLast = now - this.askedAt;
    this.askedAt = now;
    if (this.isBodySlow(now, sinceLast)) return 'body';
    return this.isResponseSlow(now) ? 'response' : null;
  }

  private isBodySlow(now: number, sinceLast: number): boolean {
    const { request } = this.exchange;
    if (request.complete) return false;
    // Bytes that nobody has read yet: the service is the slower one, and this time does not count.
    if (request.readableLength > 0) this.body.at += sinceLast;
    return this.socket.bytesRead < this.due(this.body, now);
  }

  private isResponseSlow(now: number): boolean {
    const { bytesWritten, writableLength } = this.socket;
    if (writableLength === 0) {
      this.writing = null;
      return false;
    }
    this.writing ??= { at: now, bytes: bytesWritten - writableLength };
    // What waits counts as written: how much of it has left is not known until all of it has.
    return bytesWritten < this.due(this.writing, now);
  }

  /** The position that must have been reached. */
  private due({ at, bytes }: Start, now: number): number {
    const { minTransferRate, transferGraceSeconds } = this.limits;
    return bytes + Math.max(0, (now - at) / 1000 - transferGraceSeconds) * minTransferRate;
  }
}
