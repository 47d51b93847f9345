import { topOfSight } from '../../../layout/scrolling';
import type { Block } from '../text/blocks';
import { type Hit, lastAtMost } from '../text/find';
import type { TextWord } from '../text/words';
import { showLayout, skipLayout } from './skipped-layout';

export const TIP_ID = 'word-tip';
const STOP_ATTRIBUTES = ['tabindex', 'role', 'aria-describedby'];
/** How far beyond the window paragraphs have an element for each word. */
const MARGIN = '60% 0px';

/**
 * The words as elements, without the framework: a two-hour note has 20,000 of them, and the spoken one changes several
 * times a second. Only paragraphs near the window have an element for each word; the others are plain text, which looks
 * the same. Text is set as text, never parsed.
 */
export class WordLayer {
  private readonly paragraphs: (HTMLElement | undefined)[] = [];
  private readonly spans = new Map<number, HTMLElement>();
  private readonly filled = new Set<number>();
  /** Of the paragraphs as they were measured last. */
  private heights: readonly number[] = [];
  private readonly firsts: number[];
  private readonly observer: IntersectionObserver;
  private unsure: ReadonlySet<number> = new Set();
  private hitsOf = new Map<number, Hit[]>();
  private currentHit: Hit | null = null;
  private spoken = -1;
  /** The one word that the Tab key reaches; from there the arrow keys go on. */
  private stop = 0;

  constructor(private readonly blocks: readonly Block[]) {
    this.firsts = blocks.map(({ first }) => first);
    this.observer = new IntersectionObserver((entries) => this.onSight(entries), { rootMargin: MARGIN });
  }

  /** Fills the element of a paragraph. Null when it is removed. */
  attach(block: number, element: HTMLElement | null): void {
    const before = this.paragraphs[block];
    if (before) this.observer.unobserve(before);
    this.paragraphs[block] = element ?? undefined;
    if (!element) return;
    element.dataset.block = String(block);
    element.textContent = (this.blocks[block] as Block).text;
    // When the text is shown again, what is not in sight is not laid out again.
    skipLayout(element.parentElement, this.heights[block]);
    this.observer.observe(element);
  }

  dispose(): void {
    this.observer.disconnect();
  }

  blockOf(word: number): number {
    return lastAtMost(this.firsts, word);
  }

  wordAt(word: number): TextWord | undefined {
    const block = this.blocks[this.blockOf(word)];
    return block?.words[word - block.first];
  }

  /** The element of a word, which is made if its paragraph is far away. */
  elementOf(word: number): HTMLElement | null {
    this.fill(this.blockOf(word));
    return this.spans.get(word) ?? null;
  }

  /** Where a word is in the window; null if its paragraph is far away. */
  boxOf(word: number): DOMRect | null {
    return this.spans.get(word)?.getBoundingClientRect() ?? null;
  }

  /** @returns the heights of the paragraphs with their times, in pixels; none while they are not on the page */
  measure(): readonly number[] {
    this.heights = this.paragraphs.flatMap(
      (paragraph) => paragraph?.parentElement?.getBoundingClientRect().height ?? [],
    );
    return this.heights;
  }

  /** The paragraph at the top of the window. */
  firstInSight(): number {
    const top = topOfSight();
    // Of the elements around the paragraphs, which are laid out in any case.
    const bottomOf = (block: number) => this.paragraphs[block]?.parentElement?.getBoundingClientRect().bottom ?? 0;
    let [low, high] = [0, this.paragraphs.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (bottomOf(middle) > top) high = middle;
      else low = middle + 1;
    }
    return Math.max(0, high);
  }

  /** The number of the word that an element is, or is in. */
  numberOf(target: EventTarget | null): number | null {
    const element = target instanceof Element ? target.closest<HTMLElement>('.word') : null;
    return element ? Number(element.dataset.n) : null;
  }

  /** Whether the keyboard is in the text. */
  get hasFocus(): boolean {
    return this.numberOf(document.activeElement) !== null;
  }

  markUnsure(words: ReadonlySet<number>): void {
    this.unsure = words;
    for (const [word, span] of this.spans) span.classList.toggle('is-unsure', words.has(word));
  }

  /** @param word -1 for none */
  speak(word: number): void {
    if (word === this.spoken) return;
    this.spans.get(this.spoken)?.classList.remove('is-spoken');
    this.spoken = word;
    this.spans.get(word)?.classList.add('is-spoken');
  }

  /** Where the Tab key comes into the text. */
  setStop(word: number): void {
    if (word === this.stop || word < 0) return;
    const before = this.spans.get(this.stop);
    for (const name of STOP_ATTRIBUTES) before?.removeAttribute(name);
    this.stop = word;
    this.dress(word, this.spans.get(word));
  }

  showHits(hits: readonly Hit[], current: Hit | null): void {
    for (const old of this.hitsOf.keys()) this.mark(old, 'remove');
    this.hitsOf = grouped(hits);
    this.currentHit = current;
    for (const block of this.filled) this.mark(block, 'add');
  }

  private onSight(entries: IntersectionObserverEntry[]): void {
    // All have just been laid out for the first time.
    if (this.heights.length === 0) this.measure();
    for (const { target, isIntersecting } of entries) {
      const block = Number((target as HTMLElement).dataset.block);
      if (isIntersecting) this.fill(block);
      else if (this.filled.has(block)) this.empty(block);
      else skipLayout(target.parentElement, this.heights[block]);
    }
  }

  private fill(block: number): void {
    const [paragraph, content] = [this.paragraphs[block], this.blocks[block]];
    if (!paragraph || !content || this.filled.has(block)) return;
    const parts: (Node | string)[] = [];
    content.words.forEach((word, index) => {
      const span = document.createElement('span');
      const number = content.first + index;
      span.className = this.unsure.has(number) ? 'word is-unsure' : 'word';
      if (number === this.spoken) span.classList.add('is-spoken');
      span.dataset.n = String(number);
      span.textContent = word.text;
      this.dress(number, span);
      if (index > 0 && !word.glued) parts.push(' ');
      parts.push(span);
      this.spans.set(number, span);
    });
    paragraph.replaceChildren(...parts);
    showLayout(paragraph.parentElement);
    this.filled.add(block);
    this.mark(block, 'add');
  }

  private dress(word: number, span: HTMLElement | undefined): void {
    if (word !== this.stop || !span) return;
    span.tabIndex = 0;
    span.setAttribute('role', 'button');
    span.setAttribute('aria-describedby', TIP_ID);
  }

  /** Back to plain text, unless somebody is at it. */
  private empty(block: number): void {
    const [paragraph, content] = [this.paragraphs[block], this.blocks[block]];
    if (!paragraph || !content) return;
    const selection = document.getSelection();
    if (this.blockOf(this.stop) === block || (selection && !selection.isCollapsed)) return;
    paragraph.textContent = content.text;
    this.filled.delete(block);
    content.words.forEach((_, index) => this.spans.delete(content.first + index));
  }

  private mark(block: number, change: 'add' | 'remove'): void {
    for (const hit of this.hitsOf.get(block) ?? []) {
      for (let word = hit.from; word <= hit.to; word += 1) {
        const { classList } = this.spans.get(word) ?? {};
        classList?.[change]('is-hit');
        if (change === 'remove') classList?.remove('is-current');
        else if (hit === this.currentHit) classList?.add('is-current');
      }
    }
  }
}

function grouped(hits: readonly Hit[]): Map<number, Hit[]> {
  const groups = new Map<number, Hit[]>();
  for (const hit of hits) {
    const group = groups.get(hit.block);
    if (group) group.push(hit);
    else groups.set(hit.block, [hit]);
  }
  return groups;
}
