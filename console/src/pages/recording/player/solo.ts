import { signal } from '@preact/signals';

import type { Playback } from './playback';

/** A part of a recording, in seconds. */
export interface Stretch {
  start: number;
  end: number;
}

/** A player may arrive a little before the place that it was sent to. */
const SLACK_SECONDS = 0.1;

/** Plays some stretches of a recording and skips what is between them. */
export class Solo {
  /** Whose stretches are played; null while all of it is. */
  readonly who = signal<string | null>(null);
  private stretches: readonly Stretch[] = [];
  private present = 0;
  private isSkipping = false;
  private unlisten = (): void => undefined;

  constructor(private readonly playback: Pick<Playback, 'time' | 'onTime' | 'onSeek' | 'play' | 'pause' | 'seek'>) {}

  /** @param stretches in order, of which none overlaps another */
  async play(who: string, stretches: readonly Stretch[]): Promise<void> {
    this.end();
    const { time } = this.playback;
    const next = Math.max(
      0,
      stretches.findIndex(({ end }) => time < end),
    );
    if (stretches.length === 0) return;
    this.stretches = stretches;
    this.who.value = who;
    this.present = next;
    if (!this.isIn(next, time)) this.enter(next);
    this.unlisten = this.playback.onTime((now) => this.at(now));
    this.playback.onSeek = (now) => this.isSkipping || this.follow(now);
    await this.playback.play();
  }

  stop(): void {
    this.end();
    this.playback.pause();
  }

  /** What is played from now on is all of it. */
  end(): void {
    this.unlisten();
    this.unlisten = () => undefined;
    this.playback.onSeek = () => undefined;
    this.who.value = null;
  }

  private at(time: number): void {
    if (this.isIn(this.present, time) || this.isSkipping) return;
    if (this.present + 1 < this.stretches.length) this.enter(this.present + 1);
    else this.stop();
  }

  /** The listener chose another place: where somebody else speaks, they are heard. */
  private follow(time: number): void {
    const chosen = this.stretches.findIndex((_, index) => this.isIn(index, time));
    if (chosen >= 0) this.present = chosen;
    else this.end();
  }

  private enter(index: number): void {
    this.present = index;
    this.isSkipping = true;
    this.playback.seek((this.stretches[index] as Stretch).start);
    this.isSkipping = false;
  }

  private isIn(index: number, time: number): boolean {
    const { start, end } = this.stretches[index] as Stretch;
    return time >= start - SLACK_SECONDS && time < end;
  }
}
