import { effect } from '@preact/signals';

import { formatDuration } from '../../../format/duration';
import { topOfSight } from '../../../layout/scrolling';
import type { Playback } from '../player/playback';
import { unsureBelow } from '../text/unsure';
import { Follower } from '../transcript/follower';
import { EditLayer } from './edit-layer';
import type { EditedText, Paragraph, Place, Span } from './edited-text';

interface TextEditorOptions {
  isTimed: boolean;
  /** Who says a paragraph, and the class of their colour. */
  sideOf: (paragraph: Paragraph) => { title: string; class: string } | null;
  /** Of the paragraphs that stand on the page as they are, in pixels. */
  heights: readonly (number | undefined)[];
  save: () => void;
  /** Whether the text is being saved: then nothing is typed that would not be. */
  isLocked: () => boolean;
}

/** Input that a person means by a key or a menu, and what it puts in. */
const LINE_INPUTS = new Set(['insertParagraph', 'insertLineBreak']);
const DATA_INPUTS = new Set(['insertFromPaste', 'insertFromDrop', 'insertFromYank', 'insertReplacementText']);
const MARGIN_PX = 48;

const BEFORE_ALL: Place = { paragraph: 0, offset: -1 };

/** Turns what a person does in the text into changes of it. */
export class TextEditor {
  readonly layer: EditLayer;
  private readonly follower: Follower;
  private readonly ended = new AbortController();
  private readonly stopTime: () => void;
  private readonly endMarks: () => void;
  /** Where the caret was before an input of the browser's own. */
  private before: Span;
  private caret: Place = { paragraph: 0, offset: 0 };
  /** Where the audio was started last. */
  private playedFrom: Place | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly edited: EditedText,
    private readonly playback: Playback,
    private readonly options: TextEditorOptions,
  ) {
    this.before = { from: this.caret, to: this.caret };
    this.follower = new Follower(() => playback.playing.peek());
    this.layer = new EditLayer(host, edited, (block, paragraph) => this.draw(block, paragraph), options.heights);
    edited.draw = (replacement, caret) => {
      this.layer.render(replacement);
      this.place(caret);
    };
    edited.goToUnsure = (step, isRound) => this.goToUnsure(step, isRound);
    this.endMarks = effect(() => {
      void unsureBelow.value;
      this.layer.remark();
    });
    const until = { signal: this.ended.signal };
    host.addEventListener('beforeinput', (event) => this.prepare(event), until);
    host.addEventListener('input', () => this.take(), until);
    host.addEventListener('compositionstart', () => this.beginComposition(), until);
    host.addEventListener('keydown', (event) => this.press(event), until);
    // A word that is dragged would leave its time.
    host.addEventListener('dragstart', (event) => event.preventDefault(), until);
    document.addEventListener('selectionchange', () => this.remember(), until);
    this.stopTime = playback.onTime((time) => this.speak(time));
    playback.origin = () => this.origin();
  }

  /** When what the caret is at is spoken. */
  get time(): number {
    return this.edited.timeAt(this.caret);
  }

  /** Puts the caret at the word that is spoken then. @param isWord selects it */
  open(time: number, isWord: boolean): void {
    const word = this.edited.placeOf(time);
    const { from, to } = word ?? { from: this.caret, to: this.caret };
    this.host.focus({ preventScroll: true });
    // A caret that is in sight stays where it is.
    this.place(isWord ? { from, to } : { from, to: from }, 0);
    if (this.playback.playing.peek()) this.playedFrom = from;
    this.speak(this.playback.time);
  }

  dispose(): void {
    this.ended.abort();
    this.stopTime();
    this.endMarks();
    this.follower.dispose();
    this.layer.dispose();
    this.playback.origin = () => null;
    this.edited.draw = () => undefined;
    this.edited.goToUnsure = () => false;
  }

  private draw(block: HTMLElement, paragraph: Paragraph): void {
    const side = this.options.sideOf(paragraph);
    block.className = side ? `block has-side ${side.class}` : 'block';
    // As attributes, which are no text that a caret could get into.
    setData(block, 'speaker', side && paragraph.beginsTurn ? side.title : null);
    setData(block, 'time', this.options.isTimed ? formatDuration(paragraph.start) : null);
  }

  private speak(time: number): void {
    if (!this.options.isTimed || (time <= 0 && !this.playback.playing.peek())) return;
    this.layer.speak(time, this.playback.playing.peek() ? this.follower : null);
  }

  /** From the caret, if the person moved it since the audio was started. */
  private origin(): number | null {
    const { paragraph, offset } = this.caret;
    const isMoved = paragraph !== this.playedFrom?.paragraph || offset !== this.playedFrom.offset;
    this.playedFrom = this.caret;
    this.follower.following.value = true;
    return isMoved ? this.time : null;
  }

  private remember(): void {
    const selection = this.layer.selection;
    if (selection) this.caret = selection.from;
  }

  /** @param margin from the edge of the window to the line of the caret, in pixels */
  private place(span: Span, margin = MARGIN_PX): void {
    this.layer.select(span);
    this.caret = span.from;
    const { top, bottom } = this.layer.boxOf(span.from);
    const above = top - topOfSight() - margin;
    const below = bottom + margin - innerHeight;
    if (above < 0 || below > 0) scrollBy({ top: above < 0 ? above : below, behavior: 'instant' });
  }

  private prepare(event: InputEvent): void {
    const selection = this.layer.selection;
    if (!selection) return;
    this.before = selection;
    this.follower.letGo();
    const { inputType } = event;
    // It cannot be stopped.
    if (inputType === 'insertCompositionText') return;
    if (this.options.isLocked()) {
      event.preventDefault();
      return;
    }
    const span = this.spanOf(event, selection);
    const insert = insertedBy(event);
    if (insert !== null && this.isPlain(span, insert) && !DATA_INPUTS.has(inputType)) return;
    event.preventDefault();
    if (inputType === 'historyUndo') this.edited.undo();
    else if (inputType === 'historyRedo') this.edited.redo();
    else if (insert !== null) this.edited.replace(span, insert);
  }

  /** What the browser wants to replace. Before the first character of a paragraph that is the break before it. */
  private spanOf(event: InputEvent, selection: Span): Span {
    const target = event.getTargetRanges()[0];
    const span = (target && this.layer.spanOf(target)) ?? selection;
    const { from, to } = span;
    if (from.paragraph !== to.paragraph || from.offset !== to.offset) return span;
    const length = this.layer.textOf(from.paragraph).length;
    if (event.inputType.endsWith('Backward') && from.offset === 0 && from.paragraph > 0) {
      const paragraph = from.paragraph - 1;
      return { from: { paragraph, offset: this.layer.textOf(paragraph).length }, to };
    }
    const isLast = from.paragraph === this.edited.paragraphs.length - 1;
    if (event.inputType.endsWith('Forward') && from.offset === length && !isLast) {
      return { from, to: { paragraph: from.paragraph + 1, offset: 0 } };
    }
    return span;
  }

  /** Whether the browser may do it: it leaves the paragraphs as they are, and none of them empty. */
  private isPlain({ from, to }: Span, insert: string): boolean {
    if (from.paragraph !== to.paragraph || insert.includes('\n')) return false;
    return this.layer.textOf(from.paragraph).length > to.offset - from.offset;
  }

  /** Takes over what the browser has put into a paragraph. */
  private take(): void {
    const at = this.layer.selection?.from;
    if (!this.layer.isWhole || !at) {
      this.layer.renderAll();
      return;
    }
    this.edited.type(at.paragraph, this.layer.textOf(at.paragraph), this.before, at.offset);
    this.layer.refresh(at.paragraph);
  }

  /** An input method replaces what is selected by itself, and would join paragraphs as it likes. */
  private beginComposition(): void {
    const selection = this.layer.selection;
    if (selection && selection.from.paragraph !== selection.to.paragraph) this.edited.replace(selection, '');
  }

  private press(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const isHandled = isCommand ? this.command(event) : this.leave(event);
    if (!isHandled) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private command({ key, shiftKey }: KeyboardEvent): boolean {
    const pressed = key.toLowerCase();
    if (pressed === 'enter' || pressed === 's') this.options.save();
    else if (pressed === ' ') void this.playback.toggle();
    else if (pressed !== 'z' && pressed !== 'y') return false;
    else if (this.options.isLocked()) return true;
    else if (pressed === 'z' && !shiftKey) this.edited.undo();
    else this.edited.redo();
    return true;
  }

  /** Tab goes through the unsure words and then out of the text, as Escape does at once. */
  private leave({ key, shiftKey, altKey }: KeyboardEvent): boolean {
    if (key === 'Escape') {
      document.querySelector<HTMLElement>('[data-focus="save"]')?.focus();
      return true;
    }
    if (key !== 'Tab' || altKey) return false;
    return this.goToUnsure(shiftKey ? -1 : 1, false);
  }

  /** @param isRound whether it begins again at the end */
  private goToUnsure(step: 1 | -1, isRound: boolean): boolean {
    const { edited } = this;
    const { from, to } = this.layer.selection ?? { from: this.caret, to: this.caret };
    const isCaret = from.paragraph === to.paragraph && from.offset === to.offset;
    // A word that the caret is before comes first; one that is selected has been seen.
    const start = isCaret && step > 0 ? { ...from, offset: from.offset - 1 } : from;
    const span = edited.nextUnsure(start, step) ?? (isRound ? edited.nextUnsure(BEFORE_ALL, 1) : null);
    if (!span) return false;
    this.follower.letGo();
    this.host.focus({ preventScroll: true });
    this.place(span);
    return true;
  }
}

/** @returns null for an input that is not for plain text */
function insertedBy(event: InputEvent): string | null {
  const { inputType, data, dataTransfer } = event;
  if (LINE_INPUTS.has(inputType)) return '\n';
  if (inputType.startsWith('delete')) return inputType === 'deleteByDrag' ? null : '';
  if (inputType === 'insertText') return data ?? '';
  return DATA_INPUTS.has(inputType) ? plainOf(dataTransfer?.getData('text/plain') ?? data ?? '') : null;
}

/** What the service takes: line feeds and no other control characters. */
const plainOf = (text: string): string =>
  text
    .replaceAll(/\r\n?/gu, '\n')
    .replaceAll(/(?!\n)\p{Cc}/gu, ' ')
    .replace(/^\n+/u, '')
    .trimEnd();

function setData(element: HTMLElement, name: string, value: string | null): void {
  if (value === null) delete element.dataset[name];
  else element.dataset[name] = value;
}
