import { computed, signal } from '@preact/signals';

import type { LiveMessage } from './live-messages';

/** What was said in one go. */
export interface Utterance {
  item: number;
  text: string;
}

/** The words of a recording while it is made. */
export class LiveWords {
  /** What stays as it is, in order. */
  readonly finals = signal<readonly Utterance[]>([]);
  private readonly begun = signal<readonly Utterance[]>([]);
  /** Words of what is still being said. */
  readonly partial = computed(() => this.begun.value.map(({ text }) => text.trim()).join(' '));
  /** Why no words come. None once some have come again. */
  readonly problem = signal<string | null>(null);

  heed(message: LiveMessage): void {
    if (message.type === 'partial') this.add(message);
    else if (message.type === 'final') this.complete(message);
    else if (message.type === 'problem') this.problem.value = message.message;
    // Its messages may have been lost with the connection before: what is final comes again, and all of it.
    else if (message.type === 'resumed') this.begun.value = [];
  }

  private add({ item, text }: Utterance): void {
    if (this.finals.peek().some((final) => final.item === item)) return;
    const before = this.begun.peek().find((begun) => begun.item === item)?.text ?? '';
    this.begun.value = placed(this.begun.peek(), { item, text: before + text });
  }

  private complete({ item, text }: Utterance): void {
    this.begun.value = this.begun.peek().filter((begun) => begun.item !== item);
    if (text.trim() === '') return;
    this.finals.value = placed(this.finals.peek(), { item, text });
    this.problem.value = null;
  }
}

function placed(utterances: readonly Utterance[], added: Utterance): Utterance[] {
  const others = utterances.filter(({ item }) => item !== added.item);
  return [...others, added].toSorted((one, other) => one.item - other.item);
}
