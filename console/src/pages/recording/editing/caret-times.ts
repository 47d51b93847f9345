import { type HeardWord, type TextWord, wordsOf } from '../text/words';
import { caretIn } from './changes';

/** When the word is spoken that the caret stands at, also after changes of the text. */
export class CaretTimes {
  private readonly words: TextWord[];

  /** @param initial text, as it was before the changes */
  constructor(
    private readonly initial: string,
    heard: readonly HeardWord[],
    durationSeconds: number,
  ) {
    this.words = wordsOf(initial, heard, durationSeconds);
  }

  /** @param text as it is now */
  timeAt(caret: number, text: string): number {
    const at = caretIn(this.initial, text, caret);
    return (this.words.findLast((word) => word.at <= at) ?? this.words[0])?.start ?? 0;
  }

  /** @param text as it is now */
  caretAt(time: number, text: string): number {
    // The sides of a call are not in the order of their times.
    const word = this.words.find(({ start }) => start === time) ?? this.words.findLast(({ start }) => start <= time);
    return caretIn(text, this.initial, word?.at ?? 0);
  }
}
