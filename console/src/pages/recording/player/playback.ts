import { signal } from '@preact/signals';
import type { Recording } from 'vnotes';

import { type AudioProblem, PlaybackError, problemOf } from './playback-error';

export const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3] as const;
const SPEED_KEY = 'vnotes.speed';

/** A URL that ends sooner is renewed before it is used again. */
const RENEWAL_MARGIN_MS = 5000;
/** After so much was played, a fault is a new one. */
const PROGRESS_SECONDS = 0.5;
const MOST_FRUITLESS = 1;
/** Later than any end: a player that is sent there finds out how long the audio is. */
const FAR_AWAY_SECONDS = 1e7;
const LONGEST_SEEK_MS = 3000;

/** Where the audio is, and until when. */
export interface AudioUrl {
  url: string;
  expires_at: string;
}

/** Plays the audio of one recording. Its URL is asked for at the first play, and again when it has ended. */
export class Playback {
  readonly audio = new Audio();
  readonly playing = signal(false);
  /** Whether it is to play, and waits for data. */
  readonly waiting = signal(false);
  readonly problem = signal<AudioProblem | null>(null);
  readonly speed = signal(savedSpeed());
  /** The position in whole seconds, for what is shown as text. */
  readonly second = signal(0);
  readonly duration = signal(0);
  private readonly listeners = new Set<(time: number) => void>();
  private readonly ended = new AbortController();
  private url: string | null = null;
  private expiresAt = 0;
  /** The position at the last renewal. */
  private renewedAt = 0;
  /** Faults since something was played. */
  private fruitless = 0;
  /** Where to go once the audio is there. */
  private pending: number | null = null;
  private loading: Promise<void> | null = null;
  private frame = 0;
  /** Whether it is to play once the audio is there. */
  private isWanted = false;
  /** Whether the person chose the position since it was played last. */
  private isPlaced = false;
  /** Where to play from, unless the person chose a position; null: go on from where it is. */
  origin: () => number | null = () => null;
  /** Told of each jump, of the person's and of the player's own. */
  onSeek: (time: number) => void = () => undefined;

  constructor(
    private readonly findAudio: (signal: AbortSignal) => Promise<AudioUrl>,
    private readonly recording: Pick<Recording, 'duration_seconds' | 'audio_format'>,
  ) {
    this.audio.preload = 'auto';
    this.duration.value = recording.duration_seconds;
    const listen = (type: string, listener: () => void) =>
      this.audio.addEventListener(type, listener, { signal: this.ended.signal });
    listen('play', () => this.start());
    listen('playing', () => (this.waiting.value = false));
    // Also of an audio that was paused meanwhile: a browser may tell it late, and the next press would only pause again.
    listen('waiting', () => (this.waiting.value = this.isWanted));
    listen('pause', () => this.stop());
    listen('ended', () => this.pause());
    listen('seeked', () => this.tell());
    listen('timeupdate', () => this.tell());
    listen('error', () => void this.recover());
  }

  get time(): number {
    return this.pending ?? this.audio.currentTime;
  }

  /** Calls with the position: each frame while it plays, and after each jump. @returns what ends it */
  onTime(listener: (time: number) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async toggle(): Promise<void> {
    if (this.playing.value || this.waiting.value) this.pause();
    else await this.play();
  }

  async play(): Promise<void> {
    this.problem.value = null;
    this.waiting.value = true;
    this.isWanted = true;
    try {
      const origin = this.origin();
      if (origin !== null && !this.isPlaced) this.seek(origin);
      this.isPlaced = false;
      if (this.time >= this.duration.value - 0.05 && this.duration.value > 0) this.seek(0);
      await this.load();
      if (this.isWanted) await this.audio.play();
    } catch (error) {
      this.fail(error);
    }
  }

  pause(): void {
    this.isWanted = false;
    this.audio.pause();
    this.waiting.value = false;
  }

  seek(time: number): void {
    this.isPlaced = true;
    const at = Math.min(Math.max(0, time), this.duration.value || Infinity);
    if (this.audio.readyState === 0 || this.loading) this.pending = at;
    else this.audio.currentTime = at;
    this.onSeek(at);
    this.tell(at);
  }

  skip(seconds: number): void {
    this.seek(this.time + seconds);
  }

  setSpeed(speed: number): void {
    this.speed.value = speed;
    this.audio.defaultPlaybackRate = speed;
    this.audio.playbackRate = speed;
    localStorage.setItem(SPEED_KEY, String(speed));
  }

  /** @param steps -1 for the next slower one */
  changeSpeed(steps: 1 | -1): void {
    const next = SPEEDS[SPEEDS.findIndex((speed) => speed >= this.speed.value) + steps];
    if (next !== undefined) this.setSpeed(next);
  }

  dispose(): void {
    this.ended.abort();
    this.stop();
    this.audio.pause();
    this.audio.removeAttribute('src');
    this.audio.load();
    this.listeners.clear();
  }

  private async load(): Promise<void> {
    if (this.url !== null && !this.audio.error && Date.now() < this.expiresAt - RENEWAL_MARGIN_MS) return;
    this.loading ??= this.renew().finally(() => (this.loading = null));
    await this.loading;
  }

  /** Asks for a URL and goes on at the same position. */
  private async renew(): Promise<void> {
    this.pending = this.time;
    this.renewedAt = this.pending;
    const { url, expires_at } = await this.findAudio(this.ended.signal);
    this.url = url;
    this.expiresAt = Date.parse(expires_at);
    this.audio.src = url;
    this.audio.defaultPlaybackRate = this.speed.value;
    await this.once('loadedmetadata');
    if (!Number.isFinite(this.audio.duration)) await this.measure();
    if (Number.isFinite(this.audio.duration)) this.duration.value = this.audio.duration;
    this.audio.playbackRate = this.speed.value;
    if (this.pending > 0) this.audio.currentTime = this.pending;
    this.pending = null;
  }

  /** Recordings of browsers do not say how long they are, and a player that does not know cannot jump. */
  private async measure(): Promise<void> {
    for (const time of [FAR_AWAY_SECONDS, 0]) {
      this.audio.currentTime = time;
      await Promise.race([this.once('seeked'), new Promise((resolve) => setTimeout(resolve, LONGEST_SEEK_MS))]);
    }
  }

  private once(type: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const settled = new AbortController();
      const until = { signal: AbortSignal.any([settled.signal, this.ended.signal]) };
      const settle = (end: () => void) => {
        settled.abort();
        end();
      };
      this.audio.addEventListener(type, () => settle(resolve), until);
      this.audio.addEventListener('error', () => settle(() => reject(new PlaybackError(this.audio.error))), until);
    });
  }

  /** A fault while it plays: mostly the URL has ended. */
  private async recover(): Promise<void> {
    if (this.loading || this.url === null) return;
    const wasWanted = this.isWanted;
    if (Math.abs(this.time - this.renewedAt) > PROGRESS_SECONDS) this.fruitless = 0;
    this.fruitless += 1;
    this.stop();
    if (!wasWanted) return;
    this.isPlaced = true;
    if (this.fruitless <= MOST_FRUITLESS) await this.play();
    else this.fail(new PlaybackError(this.audio.error));
  }

  private fail(error: unknown): void {
    this.waiting.value = false;
    if (this.ended.signal.aborted || isInterruption(error)) return;
    void this.explain(error);
  }

  private async explain(error: unknown): Promise<void> {
    this.problem.value = await problemOf(error, this.url, this.recording.audio_format);
  }

  private start(): void {
    this.playing.value = true;
    const tick = () => {
      this.tell();
      this.frame = requestAnimationFrame(tick);
    };
    cancelAnimationFrame(this.frame);
    tick();
  }

  private stop(): void {
    this.playing.value = false;
    this.waiting.value = false;
    cancelAnimationFrame(this.frame);
    this.tell();
  }

  private tell(time = this.time): void {
    if (this.loading && this.pending !== null) time = this.pending;
    const second = Math.floor(time);
    if (second !== this.second.peek()) this.second.value = second;
    for (const listener of this.listeners) listener(time);
  }
}

/** A play that a pause or another load has ended. */
const isInterruption = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

function savedSpeed(): number {
  const saved = Number(localStorage.getItem(SPEED_KEY));
  return SPEEDS.find((speed) => speed === saved) ?? 1;
}
