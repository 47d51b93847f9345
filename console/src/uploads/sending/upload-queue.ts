import type { VoiceNotes } from 'vnotes';

import { backgroundTime } from '../../session/pacing';
import { rateLimit } from '../../session/session';
import { attemptUpload } from './attempt';
import { tryWithLock, uploadLock, whenFree } from './locks';
import { outcomeOf } from './outcome';
import { LARGEST_FILE_BYTES, tooLarge, unsure } from './problems';
import { tellTabs } from './tabs';
import type { Problem, UploadItem } from '../store/upload-item';
import { changeView, hideItem, showItem, uploads, type UploadView, viewOf } from '../upload-list';
import { bytesOf, changeItem, findItem, isInMemory } from '../store/upload-store';

const AT_ONCE = 2;
/** Of the limit of requests: for the pages, which a person waits for. */
const KEPT_FOR_PAGES = 0.5;
/** The service keeps an Idempotency-Key for 24 hours; an hour is for clocks that differ. */
const KEY_LIFETIME_MS = 23 * 3_600_000;

/** Sends what is queued, for one person who is signed in. */
export class UploadQueue {
  private readonly running = new Map<string, AbortController>();
  private readonly failures = new Map<string, number>();
  private readonly ended = new AbortController();
  /** No request before that time: the limit is the account's. */
  private limitedUntil = 0;
  private lastStart = 0;
  /** The person asked for it: it does not wait for the pages. */
  private hurried: string | null = null;
  private timer = 0;

  /**
   * @param apiKey the public half of the credentials
   * @param onArrived lets go of an item that the service has
   */
  constructor(
    private readonly client: VoiceNotes,
    private readonly apiKey: string,
    private readonly onArrived: (id: string, recordingId: string) => Promise<void>,
  ) {
    addEventListener('online', this.onOnline, { signal: this.ended.signal });
    addEventListener('offline', () => this.pump(), { signal: this.ended.signal });
  }

  /** Ends what is being sent; it stays queued. */
  end(): void {
    clearTimeout(this.timer);
    this.ended.abort();
    // Later, because a 401 ends the session before the upload that received it has seen it.
    setTimeout(() => this.running.forEach((controller) => controller.abort()), 0);
  }

  cancel(id: string): void {
    this.running.get(id)?.abort();
    this.failures.delete(id);
  }

  /** Tries an item now, whatever it waits for. */
  hurry(id: string): void {
    this.failures.delete(id);
    this.hurried = id;
    changeView(id, { phase: 'queued', until: null });
    this.pump();
  }

  /** Starts what can be started. */
  pump(): void {
    if (this.ended.signal.aborted) return;
    clearTimeout(this.timer);
    const now = Date.now();
    for (const view of uploads.peek().filter((candidate) => this.isWaiting(candidate))) {
      const until = Math.max(view.phase === 'paced' ? 0 : (view.until ?? 0), this.limitedUntil);
      const paced = this.pacedUntil(view);
      if (until > now) this.wait(view, until);
      else if (!navigator.onLine) changeView(view.item.id, { phase: 'network', until: null });
      else if (this.running.size < AT_ONCE && paced > now) changeView(view.item.id, { phase: 'paced', until: paced });
      else if (this.running.size < AT_ONCE) void this.run(view.item.id);
      else changeView(view.item.id, { phase: 'queued', until: null });
    }
    const times = uploads.peek().flatMap(({ until }) => (until !== null && until > now ? [until] : []));
    if (times.length > 0) this.timer = window.setTimeout(() => this.pump(), Math.min(...times) - now + 20);
  }

  private pacedUntil({ item }: UploadView): number {
    return this.hurried === item.id
      ? 0
      : backgroundTime(rateLimit.peek(), KEPT_FOR_PAGES, this.lastStart, this.running.size);
  }

  private isWaiting({ item, phase }: UploadView): boolean {
    return ['queued', 'network', 'limit', 'paced', 'service'].includes(phase) && !this.running.has(item.id);
  }

  private wait({ item, phase, until: known }: UploadView, until: number): void {
    if (phase === 'queued') changeView(item.id, { phase: 'limit', until });
    else if (known !== until) changeView(item.id, { until });
  }

  private readonly onOnline = (): void => {
    this.failures.clear();
    for (const { item, phase } of uploads.peek()) if (phase === 'network') changeView(item.id, { until: null });
    this.pump();
  };

  private async run(id: string): Promise<void> {
    const controller = new AbortController();
    this.running.set(id, controller);
    this.lastStart = Date.now();
    if (this.hurried === id) this.hurried = null;
    changeView(id, { phase: 'sending', sent: 0, until: null });
    try {
      const ours = await tryWithLock(uploadLock(id), () => this.send(id, controller.signal));
      if (!ours) await this.waitForOtherTab(id, controller.signal);
    } finally {
      this.running.delete(id);
      this.pump();
    }
  }

  private async waitForOtherTab(id: string, signal: AbortSignal): Promise<void> {
    changeView(id, { phase: 'elsewhere' });
    await whenFree(uploadLock(id), signal).catch(() => {});
    const item = await findItem(id);
    if (item) changeView(id, { phase: 'queued', sent: 0 });
    // The message of the other tab that it arrived may still be on its way.
    else if (viewOf(id)?.phase === 'elsewhere')
      setTimeout(() => viewOf(id)?.phase === 'elsewhere' && hideItem(id), 500);
  }

  private async send(id: string, signal: AbortSignal): Promise<void> {
    // Another tab may have changed or sent it since it was shown.
    const item = isInMemory(id) ? viewOf(id)?.item : await findItem(id);
    if (!item) return hideItem(id);
    const problem = this.problemBefore(item);
    if (problem) return this.refuse(item, problem);
    await this.keep(item, { attempted: item.attempted ?? { at: Date.now(), by: this.apiKey } });
    try {
      const bytes = await bytesOf(item);
      const onProgress = (sent: number) => this.showProgress(id, sent);
      const recordingId = await attemptUpload(this.client, item, bytes, { signal, onProgress });
      await this.finish(id, recordingId);
    } catch (error) {
      if (signal.aborted) changeView(id, { phase: 'queued', sent: 0 });
      else await this.afterFailure(item, error);
    }
  }

  /** What must not be sent as it is. */
  private problemBefore({ size, attempted }: UploadItem): Problem | null {
    if (size > LARGEST_FILE_BYTES) return tooLarge();
    if (!attempted) return null;
    const isKnown = attempted.by === this.apiKey && Date.now() - attempted.at < KEY_LIFETIME_MS;
    return isKnown ? null : unsure();
  }

  private showProgress(id: string, sent: number): void {
    changeView(id, { sent });
    tellTabs({ kind: 'progress', id, sent });
  }

  /** The service has it durably: only now the copy in the browser goes. */
  private async finish(id: string, recordingId: string): Promise<void> {
    this.failures.delete(id);
    await this.onArrived(id, recordingId);
  }

  /** @param item as it was before the attempt */
  private async afterFailure(item: UploadItem, error: unknown): Promise<void> {
    const failures = (this.failures.get(item.id) ?? 0) + 1;
    this.failures.set(item.id, failures);
    const outcome = outcomeOf(error, failures);
    if (outcome.kind === 'refused') return await this.refuse(item, outcome.problem);
    // A refusal made no recording: what was known before the attempt is true again.
    if (outcome.kind === 'signed-out' || outcome.cause === 'limit')
      await this.keep(item, { attempted: item.attempted });
    if (outcome.kind === 'signed-out') return this.leaveToNextSession(item.id);
    const until = Date.now() + outcome.seconds * 1000;
    if (outcome.cause === 'limit') this.limitedUntil = until;
    changeView(item.id, { phase: outcome.cause, sent: 0, until });
  }

  /** The credentials are not valid any more: everything waits until the person signs in again. */
  private leaveToNextSession(id: string): void {
    changeView(id, { phase: 'queued', sent: 0, until: null });
    this.end();
  }

  private async refuse(item: UploadItem, problem: Problem): Promise<void> {
    await this.keep(item, { state: 'refused', problem, attempted: item.attempted });
    changeView(item.id, { phase: 'refused', sent: 0, until: null });
  }

  /** Changes an item in the database where it is kept there, and on the page. */
  private async keep(item: UploadItem, fields: Partial<UploadItem>): Promise<void> {
    const stored = isInMemory(item.id) ? null : await changeItem(item.id, fields).catch(() => null);
    if (!this.ended.signal.aborted) showItem(stored ?? { ...item, ...fields });
    tellTabs({ kind: 'changed' });
  }
}
