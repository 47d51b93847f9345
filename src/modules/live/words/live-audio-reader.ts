import { setTimeout as delay } from 'node:timers/promises';
import type { LiveRecordingsService } from '../live-recordings.service.js';
import type { LiveSignalsService } from '../live-signals.service.js';

/** Looks for audio this often, whatever the signals say. */
const POLL_MS = 500;
/** Parts that come faster are read together. */
const BETWEEN_READS_MS = 40;
const MAX_BYTES = 256 * 1024;

/** What lies between two cuts, while it is recorded. */
interface LiveSegment {
  fromByte: number;
  /** False: nothing within it ends an utterance but its longest length. */
  cutsAtPauses: boolean;
  /** @throws the signal's reason */
  bytes: AsyncIterable<Buffer>;
}

interface ReaderOptions {
  recordingId: string;
  fromByte: number;
  signal: AbortSignal;
}

/** The audio of a live recording as it is stored, from a byte on, up to its end. */
export class LiveAudioReader {
  private position: number;
  private isOver = false;
  private isAtCut = false;
  private signalled = false;
  private wake = (): void => undefined;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly recordings: Pick<LiveRecordingsService, 'read' | 'lastCut'>,
    signals: Pick<LiveSignalsService, 'onAudio'>,
    private readonly options: ReaderOptions,
  ) {
    this.position = options.fromByte;
    this.unsubscribe = signals.onAudio(options.recordingId, () => {
      this.signalled = true;
      this.wake();
    });
  }

  close(): void {
    this.unsubscribe();
  }

  /** The byte of the commit that ends the segment; null while that is not reached, and when something else ends it. */
  async reachedCommit(): Promise<number | null> {
    if (!this.isAtCut) return null;
    const cut = await this.lastCut();
    return cut?.isCommit === true ? this.position : null;
  }

  /** Bytes of the segment so far. */
  lengthOf({ fromByte }: LiveSegment): number {
    return this.position - fromByte;
  }

  /** Its first audio is there: only then it is known how the segment is to be cut. @returns null at the end. */
  async next(): Promise<LiveSegment | null> {
    if (this.isOver) return null;
    const fromByte = this.position;
    this.isAtCut = false;
    const rest = this.read(fromByte);
    const first = await rest.next();
    if (first.done) return null;
    return {
      fromByte,
      cutsAtPauses: (await this.lastCut(fromByte))?.atPauses ?? true,
      bytes: joined(first.value, rest),
    };
  }

  private async lastCut(upToByte = this.position) {
    return await this.recordings.lastCut(this.options.recordingId, upToByte);
  }

  /** Up to the next cut, or the end of the recording. */
  private async *read(from: number): AsyncGenerator<Buffer, void, undefined> {
    const { recordingId, signal } = this.options;
    for (;;) {
      signal.throwIfAborted();
      this.signalled = false;
      const { audio, nextCut, ended } = await this.recordings.read(recordingId, this.position, MAX_BYTES, from);
      const piece = nextCut === null ? audio : audio.subarray(0, Math.max(0, nextCut - this.position));
      this.position += piece.length;
      this.isAtCut = nextCut !== null && this.position >= nextCut;
      if (piece.length > 0) yield piece;
      if (this.isAtCut) return;
      if (audio.length === 0 && ended) {
        this.isOver = true;
        return;
      }
      if (audio.length === 0) await this.wait();
      else if (audio.length < MAX_BYTES) await delay(BETWEEN_READS_MS);
    }
  }

  private async wait(): Promise<void> {
    if (this.signalled) return;
    const stop = new AbortController();
    this.wake = () => stop.abort();
    const signal = AbortSignal.any([this.options.signal, stop.signal]);
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function* joined(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
