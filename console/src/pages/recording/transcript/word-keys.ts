import type { Signal } from '@preact/signals';

import type { Reading } from './reading';
import type { Tipped } from './word-tip';

const MOVES: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** Goes through the words by keyboard, one at a time: the whole text is one stop of the Tab key. */
export class WordKeys {
  /** Where the keyboard was before it came into the text. */
  private cameFrom: Element | null = null;
  /** Begins to correct at a word, if the person may. */
  correct: ((word: number) => void) | undefined;

  constructor(
    private readonly reading: Reading,
    private readonly tipped: Signal<Tipped | null>,
  ) {
    reading.visit = (word) => this.focus(word);
  }

  press(event: KeyboardEvent): void {
    const word = this.reading.layer.numberOf(event.target);
    if (word === null || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'Enter') this.reading.playFrom(word);
    else if (event.key === 'Escape') this.leave();
    else if (event.key === 'e' && this.correct) this.correct(word);
    else {
      const to = this.targetOf(event, word);
      if (to === null) return;
      this.focus(to);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Shows the tip of the word that an element is, if it is one. */
  point(target: EventTarget | null): void {
    const { layer } = this.reading;
    const word = layer.numberOf(target);
    const element = word === null ? null : layer.elementOf(word);
    if (!element || word === null) this.tipped.value = null;
    else if (element === document.activeElement || element.classList.contains('is-unsure')) this.showTip(element, word);
    else this.tipped.value = null;
  }

  private targetOf({ key, shiftKey, target }: KeyboardEvent, word: number): number | null {
    if (key === 'u' || key === 'U') return this.reading.nextUnsure(word, shiftKey ? -1 : 1);
    if (key in MOVES) return this.inside(word + this.visual(MOVES[key] as number, target));
    if (key === 'ArrowDown') return this.paragraphFrom(word, 1);
    return key === 'ArrowUp' ? this.paragraphFrom(word, -1) : null;
  }

  /** The arrow to the left goes on in text from right to left. */
  private visual(step: number, target: EventTarget | null): number {
    return target instanceof Element && getComputedStyle(target).direction === 'rtl' ? -step : step;
  }

  private inside(word: number): number {
    return Math.min(Math.max(0, word), this.reading.words.length - 1);
  }

  private paragraphFrom(word: number, step: 1 | -1): number {
    const { blocks, layer } = this.reading;
    const block = Math.min(Math.max(0, layer.blockOf(word) + step), blocks.length - 1);
    return blocks[block]?.first ?? 0;
  }

  private focus(word: number): void {
    const { layer, follower } = this.reading;
    const element = layer.elementOf(word);
    if (!element) return;
    if (!layer.hasFocus) this.cameFrom = document.activeElement;
    this.reading.visited = word;
    layer.setStop(word);
    follower.letGo();
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: 'nearest' });
    this.showTip(element, word);
  }

  private leave(): void {
    const back = this.cameFrom?.isConnected && this.cameFrom !== document.body ? this.cameFrom : null;
    const place = back ?? document.querySelector('#main h1');
    if (place instanceof HTMLElement) place.focus({ preventScroll: true });
    this.tipped.value = null;
  }

  private showTip(element: HTMLElement, number: number): void {
    const word = this.reading.layer.wordAt(number);
    const parent = element.closest<HTMLElement>('.transcript-text');
    if (!word || !parent) return;
    const [own, outer] = [element.getBoundingClientRect(), parent.getBoundingClientRect()];
    this.tipped.value = { word, left: own.left - outer.left + own.width / 2, top: own.top - outer.top };
  }
}
