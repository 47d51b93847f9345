import { computed, effect, signal } from '@preact/signals';

import { topOfSight } from '../../../layout/scrolling';
import type { Playback } from '../player/playback';
import type { Stretch } from '../player/solo';
import { type Block, stretchesOf, wordsInOrder } from '../text/blocks';
import { Finder, type Hit, lastAtMost } from '../text/find';
import { isUnsure } from '../text/unsure';
import type { HeardWord, TextWord } from '../text/words';
import { Follower } from './follower';
import { WordLayer } from './word-layer';

/** A transcript that is read while its audio is played: which word is spoken, and what is searched for in it. */
export class Reading {
  readonly words: TextWord[];
  readonly unsure = computed(() => this.words.flatMap((word, index) => (isUnsure(word) ? [index] : [])));
  /** Without reported words nobody knows when a word is spoken. */
  readonly isTimed: boolean;
  readonly layer: WordLayer;
  readonly follower = new Follower(() => this.playback.playing.peek());
  readonly spoken = signal(-1);
  /** Whether the spoken word is outside the window. */
  readonly isOutOfSight = signal(false);
  readonly hits = signal<Hit[]>([]);
  readonly hitIndex = signal(0);
  readonly hit = computed<Hit | null>(() => this.hits.value[this.hitIndex.value] ?? null);
  /** The word that the keyboard was at last. */
  visited: number | null = null;
  /** Moves the focus to a word; set by the text that is shown. */
  visit: (word: number) => void = () => undefined;
  private readonly finder: Finder;
  private readonly starts: Float64Array;
  /** The words by their starts: sides of a call may speak at once. */
  private readonly byStart: number[];
  private readonly endMarks: () => void;
  private from = Infinity;
  private until = -Infinity;

  constructor(
    readonly blocks: Block[],
    heard: readonly HeardWord[],
    readonly playback: Playback,
  ) {
    this.words = wordsInOrder(blocks);
    this.isTimed = heard.length > 0;
    this.byStart = [...this.words.keys()].toSorted((a, b) => this.startOf(a) - this.startOf(b));
    this.starts = Float64Array.from(this.byStart, (word) => this.startOf(word));
    this.layer = new WordLayer(this.blocks);
    this.finder = new Finder(this.blocks);
    this.endMarks = effect(() => this.layer.markUnsure(new Set(this.unsure.value)));
  }

  /** Marks the word that is spoken at this time. It is called for each frame, and mostly has nothing to do. */
  at(time: number): void {
    if ((time >= this.from && time < this.until) || !this.isTimed) return;
    const index = lastAtMost(this.starts, time);
    const begun = time >= (this.starts[0] ?? Infinity) && (time > 0 || this.playback.playing.peek());
    this.from = begun ? (this.starts[index] as number) : -Infinity;
    this.until = (begun ? this.starts[index + 1] : this.starts[0]) ?? Infinity;
    const word = begun ? (this.byStart[index] as number) : -1;
    this.spoken.value = word;
    this.layer.speak(word);
    if (!this.layer.hasFocus) this.layer.setStop(word);
    this.look();
    if (word < 0 || !this.playback.playing.peek()) return;
    const element = this.follower.following.peek() ? this.layer.elementOf(word) : null;
    if (element) this.follower.keepInSight(element);
  }

  /** Sees whether the spoken word is in the window. */
  look(): void {
    const { top = -1, bottom = -1 } = this.layer.boxOf(this.spoken.peek()) ?? {};
    this.isOutOfSight.value = bottom < 0 || top > innerHeight;
  }

  playFrom(word: number): void {
    if (!this.isTimed) return;
    this.follower.following.value = true;
    this.playback.seek(this.startOf(word));
    if (!this.playback.playing.peek()) void this.playback.play();
  }

  /** When the word is spoken that the person listens to, else reads. */
  placeInTime(): number {
    const inSight = (word: number) => {
      const box = word < 0 ? null : this.layer.boxOf(word);
      return box !== null && box.bottom > topOfSight() && box.top < innerHeight;
    };
    const spoken = this.spoken.peek();
    if (spoken >= 0 && this.playback.playing.peek()) return this.startOf(spoken);
    const word = [this.visited ?? -1, spoken].find(inSight) ?? this.firstInSight();
    return word === undefined ? 0 : this.startOf(word);
  }

  /** Where the speakers with these labels speak, in order. */
  stretchesOf(labels: readonly string[]): Stretch[] {
    return this.isTimed ? stretchesOf(this.blocks, labels) : [];
  }

  /** Scrolls to what is spoken at this time, unless it is in sight. */
  show(time: number): void {
    const word = this.byStart[lastAtMost(this.starts, time)];
    const element = word === undefined ? null : this.layer.elementOf(word);
    if (!element) return;
    const { top, bottom } = element.getBoundingClientRect();
    if (top < topOfSight() || bottom > innerHeight) this.follower.scrollTo(element);
  }

  backToSpoken(): void {
    const spoken = this.spoken.peek();
    this.follower.resume(spoken < 0 ? null : this.layer.elementOf(spoken));
  }

  find(query: string): void {
    const hits = this.finder.find(query);
    this.hits.value = hits;
    // From what is read on: the first match at or after the spoken word.
    const next = hits.findIndex(({ from }) => from >= this.spoken.peek());
    this.showHit(Math.max(0, next));
  }

  /** At the first match, of whole words if there is one. */
  open(query: string): void {
    this.find(query);
    this.showHit(
      Math.max(
        0,
        this.hits.peek().findIndex(({ isWhole }) => isWhole),
      ),
    );
  }

  /** @param index of the match; goes round at both ends */
  showHit(index: number): void {
    const count = this.hits.peek().length;
    this.hitIndex.value = count === 0 ? 0 : (index + count) % count;
    const hit = this.hit.peek();
    this.layer.showHits(this.hits.peek(), hit);
    const element = hit && this.layer.elementOf(hit.from);
    if (!element) return;
    this.follower.letGo();
    this.follower.scrollTo(element);
  }

  /** @returns the number of the next unsure word, or the one before; null if there is none */
  nextUnsure(from: number, step: 1 | -1): number | null {
    const unsure = this.unsure.peek();
    const next = step > 0 ? unsure.find((word) => word > from) : unsure.findLast((word) => word < from);
    return next ?? (step > 0 ? unsure[0] : unsure.at(-1)) ?? null;
  }

  /** Moves the focus there; the keys of the text take over. */
  goToUnsure(): void {
    const word = this.nextUnsure(this.visited ?? this.spoken.peek(), 1);
    if (word !== null) this.visit(word);
  }

  dispose(): void {
    this.endMarks();
    this.layer.dispose();
    this.follower.dispose();
  }

  /** The word at the top of the window. */
  private firstInSight(): number | undefined {
    const block = this.blocks[this.layer.firstInSight()];
    if (!block) return undefined;
    const top = topOfSight();
    const inSight = block.words.findIndex((_, index) => (this.layer.boxOf(block.first + index)?.top ?? -1) >= top);
    return block.first + Math.max(0, inSight);
  }

  private startOf(word: number): number {
    return (this.words[word] as TextWord).start;
  }
}
