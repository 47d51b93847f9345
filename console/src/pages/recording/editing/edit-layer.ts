import type { Follower } from '../transcript/follower';
import { isUnsure } from '../text/unsure';
import { skipLayout } from '../transcript/skipped-layout';
import type { EditedText, Paragraph, Place, Replacement, Span } from './edited-text';

/** How far beyond the window unsure words are marked. */
const MARGIN = '60% 0px';

/**
 * The paragraphs of a text as elements that a person types in. Each holds plain text: words are marked by highlights, not
 * by elements, so that what is typed stays the browser's, with its input methods and its spelling.
 */
export class EditLayer {
  private readonly paragraphs: HTMLElement[] = [];
  private readonly marks = new Map<HTMLElement, Range[]>();
  private readonly unsure = highlight('unsure');
  private readonly spoken = highlight('spoken');
  private readonly observer: IntersectionObserver;
  private spokenFrom = 0;
  private spokenUntil = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly edited: EditedText,
    private readonly draw: (block: HTMLElement, paragraph: Paragraph) => void,
    heights: readonly (number | undefined)[],
  ) {
    this.observer = new IntersectionObserver((entries) => this.onSight(entries), { rootMargin: MARGIN });
    this.render({ first: 0, removed: 0, added: edited.paragraphs.length });
    heights.forEach((height, index) => skipLayout(this.paragraphs[index]?.parentElement ?? null, height));
  }

  dispose(): void {
    this.observer.disconnect();
    this.unsure?.clear();
    this.spoken?.clear();
  }

  /** Draws the paragraphs that have come in the place of others. */
  render({ first, removed, added }: Replacement): void {
    const after = this.paragraphs[first + removed]?.parentElement ?? null;
    for (const gone of this.paragraphs.slice(first, first + removed)) {
      if (gone.parentElement) this.observer.unobserve(gone.parentElement);
      this.unmark(gone);
      gone.parentElement?.remove();
    }
    const elements = this.edited.paragraphs.slice(first, first + added).map((paragraph) => {
      const block = document.createElement('div');
      const text = document.createElement('p');
      text.className = 'block-text';
      text.dir = 'auto';
      text.append(paragraph.text === '' ? document.createElement('br') : paragraph.text);
      block.append(text);
      this.draw(block, paragraph);
      this.observer.observe(block);
      return text;
    });
    this.paragraphs.splice(first, removed, ...elements);
    const blocks = document.createDocumentFragment();
    blocks.append(...elements.map(({ parentElement }) => parentElement as HTMLElement));
    this.host.insertBefore(blocks, after);
    this.spokenUntil = 0;
  }

  /** Whether each paragraph still has its element. */
  get isWhole(): boolean {
    const { children } = this.host;
    return (
      children.length === this.paragraphs.length &&
      this.paragraphs.every((text, index) => text.isConnected && text.parentElement === children[index])
    );
  }

  renderAll(): void {
    this.host.replaceChildren();
    const count = this.edited.paragraphs.length;
    this.render({ first: 0, removed: this.paragraphs.length, added: count });
  }

  /** Draws again who says what, and when. */
  redraw(): void {
    this.paragraphs.forEach((text, index) => {
      this.draw(text.parentElement as HTMLElement, this.edited.paragraphs[index] as Paragraph);
    });
  }

  /** Marks the words of a paragraph anew, after something was typed in it. */
  refresh(index: number): void {
    const text = this.paragraphs[index];
    if (!text) return;
    if (this.marks.has(text)) this.mark(text);
    this.draw(text.parentElement as HTMLElement, this.edited.paragraphs[index] as Paragraph);
    this.spokenUntil = 0;
  }

  /** Marks all words in sight anew, after others count as unsure. */
  remark(): void {
    for (const text of this.paragraphs) if (this.marks.has(text)) this.mark(text);
  }

  textOf(index: number): string {
    return (this.paragraphs[index]?.textContent ?? '').replaceAll('\n', ' ');
  }

  /** What is selected, in the order of the text; null if it is not in the text. */
  get selection(): Span | null {
    const selection = document.getSelection();
    return selection && selection.rangeCount > 0 ? this.spanOf(selection.getRangeAt(0)) : null;
  }

  select({ from, to }: Span): void {
    const [start, end] = [this.pointOf(from), this.pointOf(to)];
    document.getSelection()?.setBaseAndExtent(...start, ...end);
  }

  spanOf({ startContainer, startOffset, endContainer, endOffset }: AbstractRange): Span | null {
    if (!this.host.contains(startContainer) || !this.host.contains(endContainer)) return null;
    return { from: this.placeOf(startContainer, startOffset), to: this.placeOf(endContainer, endOffset) };
  }

  /** Where a place is in the window. */
  boxOf(place: Place): DOMRect {
    const range = document.createRange();
    range.setStart(...this.pointOf(place));
    const box = range.getClientRects()[0] ?? range.getBoundingClientRect();
    // A caret in an empty paragraph has no box.
    return box.height > 0 ? box : (this.paragraphs[place.paragraph] as HTMLElement).getBoundingClientRect();
  }

  /** Marks the word that is spoken at this time. It is called for each frame, and mostly has nothing to do. */
  speak(time: number, follower: Follower | null): void {
    if (time >= this.spokenFrom && time < this.spokenUntil) return;
    const found = this.edited.spokenAt(time);
    this.spoken?.clear();
    [this.spokenFrom, this.spokenUntil] = [found?.start ?? 0, found?.until ?? 0];
    if (!found) return;
    const range = this.rangeOf(this.edited.spanOf(found.paragraph, found.word));
    this.spoken?.add(range);
    follower?.keepInSight(range);
  }

  private onSight(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const text = target.firstElementChild;
      if (!(text instanceof HTMLElement)) continue;
      if (isIntersecting) this.mark(text);
      else this.unmark(text);
    }
  }

  private mark(text: HTMLElement): void {
    this.unmark(text);
    const paragraph = this.paragraphs.indexOf(text);
    const words = this.edited.paragraphs[paragraph]?.words ?? [];
    const ranges = words.flatMap((word, index) =>
      isUnsure(word) ? [this.rangeOf(this.edited.spanOf(paragraph, index))] : [],
    );
    for (const range of ranges) this.unsure?.add(range);
    this.marks.set(text, ranges);
  }

  private unmark(text: HTMLElement): void {
    for (const range of this.marks.get(text) ?? []) this.unsure?.delete(range);
    this.marks.delete(text);
  }

  private rangeOf({ from, to }: Span): Range {
    const range = document.createRange();
    range.setStart(...this.pointOf(from));
    range.setEnd(...this.pointOf(to));
    return range;
  }

  private pointOf({ paragraph, offset }: Place): [Node, number] {
    const text = this.paragraphs[paragraph] as HTMLElement;
    let rest = offset;
    for (const node of text.childNodes) {
      if (!(node instanceof Text)) continue;
      if (rest <= node.length) return [node, rest];
      rest -= node.length;
    }
    return [text, 0];
  }

  private placeOf(node: Node, offset: number): Place {
    const text = this.paragraphs.findIndex((paragraph) => paragraph.contains(node));
    if (text >= 0) {
      const range = document.createRange();
      range.setStart(this.paragraphs[text] as HTMLElement, 0);
      range.setEnd(node, offset);
      return { paragraph: text, offset: range.toString().length };
    }
    // Between paragraphs: a browser names the element around them when all is selected.
    const point = document.createRange();
    point.setStart(node, offset);
    const next = this.paragraphs.findIndex((paragraph) => point.comparePoint(paragraph, 0) >= 0);
    if (next === 0) return { paragraph: 0, offset: 0 };
    const last = (next < 0 ? this.paragraphs.length : next) - 1;
    return { paragraph: last, offset: this.textOf(last).length };
  }
}

/** Null in a browser without them: then words are not marked. */
function highlight(name: string): Highlight | null {
  if (!('highlights' in CSS)) return null;
  const made = new Highlight();
  made.priority = name === 'spoken' ? 1 : 0;
  CSS.highlights.set(name, made);
  return made;
}
