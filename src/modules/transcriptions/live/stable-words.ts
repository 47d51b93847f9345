import type { TranscriptWord } from '../engines/transcription-engine.js';

/** A word is stable when so many hypotheses in a row have it at the same place… */
const HYPOTHESES = 2;
const SAME_PLACE_SECONDS = 0.05;
/** …and when it ended that long ago: what follows may make another word of it. */
const MARGIN_SECONDS = 0.2;

/** The words of one utterance that hypotheses will most likely not change any more. They are only added to. */
export class StableWords {
  private before: readonly TranscriptWord[][] = [];
  private end = 0;

  /**
   * @param hypothesis all words that the audio so far may be
   * @param heardSeconds length of the audio so far
   * @returns those that have become stable
   */
  add(hypothesis: TranscriptWord[], heardSeconds: number): TranscriptWord[] {
    const before = this.before;
    this.before = [...before, hypothesis].slice(1 - HYPOTHESES);
    if (before.length < HYPOTHESES - 1) return [];
    const stable: TranscriptWord[] = [];
    for (const word of hypothesis) {
      if (word.start < this.end - SAME_PLACE_SECONDS) continue;
      if (word.end > heardSeconds - MARGIN_SECONDS) break;
      if (!before.every((earlier) => earlier.some((other) => isSame(word, other)))) break;
      stable.push(word);
      this.end = word.end;
    }
    return stable;
  }
}

const isSame = (a: TranscriptWord, b: TranscriptWord): boolean =>
  a.word === b.word && Math.abs(a.start - b.start) <= SAME_PLACE_SECONDS;
