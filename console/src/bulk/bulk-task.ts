import { signal } from '@preact/signals';
import { ApiError, isApiError } from 'vnotes';

import { describeError } from '../components/describe-error';
import { backgroundTime } from '../session/pacing';
import { rateLimit } from '../session/session';

export type TaskName = 'delete' | 'export' | 'select' | 'tag' | 'transcribe';

/** The same thing done to many, such as the deletion of what was selected. */
export interface BulkTask {
  name: TaskName;
  done: number;
  total: number;
  /** What has begun is finished; nothing else begins. */
  stop: () => void;
}

/** Those under way, the latest last. */
export const bulkTasks = signal<readonly BulkTask[]>([]);

/** How it went. */
export interface BulkOutcome<T> {
  done: readonly T[];
  failed: readonly { item: T; error: unknown }[];
  /** Not begun when the person stopped it. */
  left: readonly T[];
}

/** At once; more would only wait for the limit of the account. */
const CONCURRENCY = 4;
/** Shown from this number on: fewer are done before it could be read. */
const SHOWN_FROM = 3;
/** Of the limit of requests: for what a person does meanwhile. */
const KEPT_FOR_PEOPLE = 0.2;
/** Of one item, when the service or the network fails; a limit of requests is waited for as often as it takes. */
const MAX_ATTEMPTS = 3;
const OUTAGE_SECONDS = 5;
/** For a request of `run`: what may succeed later is tried again here. */
export const ONCE = { maxRetries: 0 };

/** Shows a task until `end`. @param signal aborted when the person stops it */
export function showTask(
  name: TaskName,
  total: number,
): { signal: AbortSignal; advance: (n: number) => void; end: () => void } {
  const stopping = new AbortController();
  let task: BulkTask = { name, done: 0, total, stop: () => stopping.abort() };
  const others = () => bulkTasks.peek().filter((other) => other !== task);
  const advance = (done: number) => {
    const before = task;
    task = { ...task, done };
    bulkTasks.value = bulkTasks.peek().map((other) => (other === before ? task : other));
  };
  bulkTasks.value = [...bulkTasks.peek(), task];
  return { signal: stopping.signal, advance, end: () => (bulkTasks.value = others()) };
}

/**
 * Runs `run` for each item, several at once, as fast as the limit of the account allows. People who use the console
 * meanwhile have a part of it.
 */
export async function runMany<T>(
  name: TaskName,
  items: readonly T[],
  run: (item: T) => Promise<unknown>,
): Promise<BulkOutcome<T>> {
  const task = items.length >= SHOWN_FROM ? showTask(name, items.length) : null;
  const many = new Many(items, run, task?.signal ?? new AbortController().signal, (done) => task?.advance(done));
  const outcome = await many.finish();
  task?.end();
  return outcome;
}

class Many<T> {
  private readonly done: T[] = [];
  private readonly failed: { item: T; error: unknown }[] = [];
  private readonly waiting: { item: T; attempt: number }[];
  private underWay = 0;
  private lastAt = 0;
  /** Nothing begins before: the service asked for it. */
  private pausedUntil = 0;

  constructor(
    items: readonly T[],
    private readonly run: (item: T) => Promise<unknown>,
    private readonly stopped: AbortSignal,
    private readonly advance: (done: number) => void,
  ) {
    this.waiting = items.map((item) => ({ item, attempt: 1 })).toReversed();
  }

  async finish(): Promise<BulkOutcome<T>> {
    await Promise.all(Array.from({ length: CONCURRENCY }, () => this.work()));
    return { done: this.done, failed: this.failed, left: this.waiting.map(({ item }) => item).toReversed() };
  }

  private async work(): Promise<void> {
    for (;;) {
      await this.turn();
      const next = this.stopped.aborted ? undefined : this.waiting.pop();
      if (!next) return;
      [this.underWay, this.lastAt] = [this.underWay + 1, Date.now()];
      await this.attempt(next);
      this.underWay -= 1;
      this.advance(this.done.length + this.failed.length);
    }
  }

  private async attempt({ item, attempt }: { item: T; attempt: number }): Promise<void> {
    try {
      await this.run(item);
      this.done.push(item);
    } catch (error) {
      const pause = pauseAfter(error, attempt);
      if (pause === null) return void this.failed.push({ item, error });
      this.pausedUntil = Math.max(this.pausedUntil, Date.now() + pause * 1000);
      // A limit is no fault of the item.
      this.waiting.push({ item, attempt: isApiError(error, 'RateLimitError') ? attempt : attempt + 1 });
    }
  }

  /** Until the next may begin, or the person stops it. */
  private async turn(): Promise<void> {
    for (;;) {
      const at = Math.max(
        this.pausedUntil,
        backgroundTime(rateLimit.peek(), KEPT_FOR_PEOPLE, this.lastAt, this.underWay),
      );
      const delay = at - Date.now();
      if (delay <= 0 || this.stopped.aborted || this.waiting.length === 0) return;
      await pass(delay, this.stopped);
    }
  }
}

/** @returns seconds after which the same may succeed; null when it has failed for good */
function pauseAfter(error: unknown, attempt: number): number | null {
  if (isApiError(error, 'RateLimitError')) return error.retryAfter ?? OUTAGE_SECONDS;
  if (attempt >= MAX_ATTEMPTS || (error instanceof ApiError && error.status < 500)) return null;
  return describeError(error).retryInSeconds;
}

/** Resolves when the time has passed or the signal is aborted. */
function pass(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stopped.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    stopped.addEventListener('abort', end);
  });
}
