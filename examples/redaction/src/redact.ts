import type { TranscriptFilter, TranscriptWord } from 'voice-note-transcription-service';
import { type Finding, personalDataIn } from './personal-data.js';

/** Replaces personal data in the text and in the words. */
export const redact: TranscriptFilter = ({ text, words }) => ({ text: redactText(text), words: redactWords(words) });

function redactText(text: string): string {
  let end = 0;
  const kept = personalDataIn(text).map((finding) => {
    const before = text.slice(end, finding.start);
    end = finding.end;
    return before + finding.replacement;
  });
  return kept.join('') + text.slice(end);
}

/**
 * The words that make up a number or an address become one word, from the start of the first to the end of the last.
 * Punctuation around it stays.
 */
function redactWords(words: TranscriptWord[]): TranscriptWord[] {
  const findings = personalDataIn(words.map(({ word }) => word).join(' '));
  const redacted: TranscriptWord[] = [];
  let last: Finding | undefined;
  let position = 0;
  for (const word of words) {
    const [start, end] = [position, position + word.word.length];
    position = end + 1;
    const finding = findings.find((found) => found.start < end && start < found.end);
    if (!finding) redacted.push(word);
    else {
      const after = word.word.slice(Math.max(0, finding.end - start));
      const previous = finding === last ? redacted.pop() : undefined;
      const before = word.word.slice(0, Math.max(0, finding.start - start)) + finding.replacement;
      redacted.push({ ...(previous ?? word), word: (previous?.word ?? before) + after, end: word.end });
    }
    last = finding;
  }
  return redacted;
}
