import type { RecordingView } from '../api/types.gen.js';
import { Deadline } from '../http/deadline.js';
import { isRetryable, sleep } from '../http/retry.js';
import type { Transport } from '../http/transport.js';
import { EventStream } from './event-stream.js';

/** For what to wait, and how long. */
export interface WaitOptions {
  /** Ends the wait; the promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds until a TimeoutError; no limit by default. */
  timeout?: number | undefined;
}

/** While the event stream is connected, which tells of the end at once. */
const LIVE_POLL_MS = 30_000;
const FIRST_POLL_MS = 1000;
const LONGEST_POLL_MS = 10_000;
/** In a row, each after its own retries. */
const MAX_FAILURES = 5;

/** One who waits for news of a recording. */
class Bell {
  private hasRung = false;
  private controller = new AbortController();

  ring(): void {
    this.hasRung = true;
    this.controller.abort();
  }

  /** Until it is rung, or was since the last call, or the time has passed. @throws the reason of the signal */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.hasRung) {
      const either = new Deadline(signal, 0);
      const stop = () => either.abort();
      this.controller.signal.addEventListener('abort', stop, { once: true });
      await sleep(ms, either.signal).catch(() => signal.throwIfAborted());
      either.end();
    }
    signal.throwIfAborted();
    this.hasRung = false;
    this.controller = new AbortController();
  }
}

/**
 * Waits for recordings to be transcribed or to fail. All who wait share one event stream, which is open while anybody
 * waits. Without it, or before it is open, the recordings are asked for at growing intervals.
 */
export class RecordingWaiter {
  private readonly bells = new Map<string, Set<Bell>>();
  private stream: AbortController | null = null;
  private isLive = false;

  constructor(
    private readonly transport: Transport,
    private readonly get: (id: string, options: { signal: AbortSignal }) => Promise<RecordingView>,
  ) {}

  /** @throws TimeoutError, or what the request for the recording throws, such as a NotFoundError when it was deleted */
  async wait(id: string, { signal, timeout = 0 }: WaitOptions = {}): Promise<RecordingView> {
    signal?.throwIfAborted();
    const deadline = new Deadline(signal, timeout, `The recording was not transcribed within ${timeout} ms.`);
    const bell = new Bell();
    this.join(id, bell);
    try {
      // Asked before the stream is open, the end could fall between the two.
      if (!this.isLive) await bell.wait(FIRST_POLL_MS, deadline.signal);
      for (let [n, failures] = [1, 0]; ; n += 1) {
        try {
          const recording = await this.get(id, { signal: deadline.signal });
          if (recording.status !== 'processing') return recording;
          failures = 0;
        } catch (error) {
          // The limit of requests, or the network, may allow the next one.
          if ((failures += 1) > MAX_FAILURES || deadline.signal.aborted || !isRetryable(error, true)) throw error;
        }
        await bell.wait(this.isLive ? LIVE_POLL_MS : pollDelay(n), deadline.signal);
      }
    } finally {
      deadline.end();
      this.leave(id, bell);
    }
  }

  private join(id: string, bell: Bell): void {
    this.bells.set(id, (this.bells.get(id) ?? new Set()).add(bell));
    if (this.stream) return;
    this.stream = new AbortController();
    void this.listen(this.stream);
  }

  private leave(id: string, bell: Bell): void {
    const bells = this.bells.get(id);
    bells?.delete(bell);
    if (bells?.size === 0) this.bells.delete(id);
    if (this.bells.size > 0) return;
    this.stream?.abort();
    this.stream = null;
    this.isLive = false;
  }

  /** Without the stream, which the service may refuse, the intervals are all there is. */
  private async listen(connection: AbortController): Promise<void> {
    const isCurrent = () => this.stream === connection;
    const onState = ({ state }: { state: string }) => {
      if (!isCurrent()) return;
      this.isLive = state === 'open';
      for (const bells of this.bells.values()) for (const bell of bells) bell.ring();
    };
    try {
      for await (const { body } of new EventStream(this.transport, { signal: connection.signal, onState }).events()) {
        for (const bell of this.bells.get(body.recording?.id) ?? []) bell.ring();
      }
    } catch {
      if (!isCurrent()) return;
      onState({ state: 'waiting' });
      // The next who waits tries again.
      this.stream = null;
    }
  }
}

const pollDelay = (attempt: number): number => Math.min(FIRST_POLL_MS * 2 ** (attempt - 1), LONGEST_POLL_MS);
