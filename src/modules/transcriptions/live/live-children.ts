import type { SandboxMode } from '../../../platform/config/env.js';
import { type ChildModule, EngineChild } from '../engines/children/engine-child.js';

/** A child that nobody uses is kept for the next speaker: to load a model takes about a second. */
const KEPT = 1;

/** Processes that recognise while one speaks, each for one speaker at a time. */
export class LiveChildren {
  private idle: EngineChild[] = [];
  private readonly all = new Set<EngineChild>();
  private closed = false;

  constructor(
    private readonly module: ChildModule,
    private readonly sandbox: SandboxMode = 'auto',
  ) {}

  /** Running, whether in use or not. */
  get size(): number {
    return [...this.all].filter((child) => child.isAlive).length;
  }

  /** Null when a process is ready or can be started; otherwise why not. */
  async problem(): Promise<string | null> {
    const child = this.take();
    try {
      await child.ready;
      return null;
    } catch (error) {
      return (error as Error).message;
    } finally {
      this.give(child);
    }
  }

  /** For one speaker, who gives it back. */
  take(): EngineChild {
    const known = this.idle.pop();
    if (known?.isAlive) return known;
    if (known) return this.take();
    if (this.closed) throw new Error('the live engine is closed');
    const child = new EngineChild(this.module, this.sandbox);
    this.all.add(child);
    return child;
  }

  give(child: EngineChild): void {
    if (child.isIdle && this.idle.length < KEPT && !this.closed) this.idle.push(child);
    else void this.end(child);
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.all].map((child) => this.end(child)));
  }

  private async end(child: EngineChild): Promise<void> {
    await child.close();
    this.all.delete(child);
  }
}
