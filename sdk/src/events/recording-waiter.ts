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

/** Wakes one caller who waits for a change of a recording. */
class Notifier {
  private wasNotified = false;
  private controller = new AbortController();

  notify(): void {
    this.wasNotified = true;
    this.controller.abort();
  }

  /** Until it is notified, or was since the last call, or the time has passed. @throws the reason of the signal */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.wasNotified) {
      const either = new Deadline(signal, 0);
      const stop = () => either.abort();
      this.controller.signal.addEventListener('abort', stop, { once: true });
      await sleep(ms, either.signal).catch(() => signal.throwIfAborted());
      either.end();
    }
    signal.throwIfAborted();
    this.wasNotified = false;
    this.controller = new AbortController();
  }
}

/**
 * Waits for recordings to be transcribed or to fail. All who wait share one event stream, which is open while anybody
 * waits. Without it, or before it is open, the recordings are asked for at growing intervals.
 */
export class RecordingWaiter {
  private readonly waiting = new Map<string, Set<Notifier>>();
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
    const notifier = new Notifier();
    this.join(id, notifier);
    try {
      // Asked before the stream is open, the end could fall between the two.
      if (!this.isLive) await notifier.wait(FIRST_POLL_MS, deadline.signal);
      for (let [n, failures] = [1, 0]; ; n += 1) {
        try {
          const recording = await this.get(id, { signal: deadline.signal });
          if (recording.status !== 'processing') return recording;
          failures = 0;
        } catch (error) {
          // The limit of requests, or the network, may allow the next one.
          if ((failures += 1) > MAX_FAILURES || deadline.signal.aborted || !isRetryable(error, true)) throw error;
        }
        await notifier.wait(this.isLive ? LIVE_POLL_MS : pollDelay(n), deadline.signal);
      }
    } finally {
      deadline.end();
      this.leave(id, notifier);
    }
  }

  private join(id: string, notifier: Notifier): void {
    this.waiting.set(id, (this.waiting.get(id) ?? new Set()).add(notifier));
    if (this.stream) return;
    this.stream = new AbortController();
    void this.listen(this.stream);
  }

  private leave(id: string, notifier: Notifier): void {
    const notifiers = this.waiting.get(id);
    notifiers?.delete(notifier);
    if (notifiers?.size === 0) this.waiting.delete(id);
    if (this.waiting.size > 0) return;
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
      for (const notifiers of this.waiting.values()) for (const notifier of notifiers) notifier.notify();
    };
    try {
      for await (const { body } of new EventStream(this.transport, { signal: connection.signal, onState }).events()) {
        for (const notifier of this.waiting.get(body.recording?.id) ?? []) notifier.notify();
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
