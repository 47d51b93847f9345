import { signal } from '@preact/signals';

/** The part of the window in which the spoken word stays, as shares of its height. */
const COMFORT = { top: 0.25, bottom: 0.7 };
/** Longer than a smooth scroll of the browser takes. */
const OWN_SCROLL_MS = 1200;
const SCROLL_KEYS = new Set(['PageUp', 'PageDown', 'Home', 'End', 'ArrowUp', 'ArrowDown']);

/** A word as an element or a range. */
export type Boxed = Pick<Element, 'getBoundingClientRect'>;

/** Keeps the spoken word in sight, and lets go as soon as the person scrolls. */
export class Follower {
  readonly following = signal(true);
  private scrollingUntil = 0;
  private readonly ended = new AbortController();

  /** @param isActive whether a word is spoken at all: else there is nothing to let go of */
  constructor(private readonly isActive: () => boolean) {
    const options = { signal: this.ended.signal, passive: true };
    const letGo = () => this.letGo();
    addEventListener('wheel', letGo, options);
    addEventListener('touchmove', letGo, options);
    addEventListener('keydown', ({ key, target }) => SCROLL_KEYS.has(key) && isPage(target) && letGo(), options);
    // A scroll bar that is dragged fires nothing else.
    addEventListener('scroll', () => Date.now() > this.scrollingUntil && letGo(), options);
  }

  letGo(): void {
    if (this.isActive()) this.following.value = false;
  }

  /** Follows again, from where the word is. */
  resume(word: Boxed | null): void {
    this.following.value = true;
    if (word) this.scrollTo(word);
  }

  /** Scrolls when the word is not where one likes to read. */
  keepInSight(word: Boxed): void {
    if (!this.following.peek()) return;
    const { top, bottom } = word.getBoundingClientRect();
    if (top < innerHeight * COMFORT.top || bottom > innerHeight * COMFORT.bottom) this.scrollTo(word);
  }

  scrollTo(word: Boxed): void {
    this.scrollingUntil = Date.now() + OWN_SCROLL_MS;
    const { top, bottom } = word.getBoundingClientRect();
    const distance = (top + bottom - innerHeight) / 2;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches || Math.abs(distance) > innerHeight * 2;
    scrollBy({ top: distance, behavior: calm ? 'instant' : 'smooth' });
  }

  dispose(): void {
    this.ended.abort();
    // A scroll that is under way would go on below what is shown next.
    if (Date.now() < this.scrollingUntil) scrollTo({ top: scrollY, behavior: 'instant' });
  }
}

/** Not a field or a list that uses these keys itself. */
const isPage = (target: EventTarget | null): boolean =>
  !(target instanceof Element) || target.closest('input, select, textarea, [role="group"]') === null;
