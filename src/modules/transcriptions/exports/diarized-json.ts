import { markSentenceEnds } from '../text/sentences.js';
import { timeTokens } from '../text/time-tokens.js';
import { joinTokens, tokensOf } from '../text/tokens.js';
import { turnsOf } from '../text/turns.js';
import type { ExportSource } from './cues.js';
import { groupParagraphs, hasEmptyLine } from './render-export.js';

/** A transcript of which the turns are wanted. */
export interface DiarizedInput extends Omit<ExportSource, 'words'> {
  /** JSON text of the list. */
  words: string;
}

/**
 * The segments of OpenAI's `diarized_json`, as JSON text: the turns of the speakers, in paragraphs. A function for threads:
 * of a long recording it takes a second.
 */
export function diarizedSegmentsOf({ text, words: json, durationSeconds, names }: DiarizedInput): string {
  const words = JSON.parse(json) as ExportSource['words'];
  const tokens = markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds));
  const segments = turnsOf(tokens, words, names).flatMap(({ voice, tokens: own }) =>
    groupParagraphs(own, hasEmptyLine(text)).map((paragraph) => ({
      speaker: voice,
      start: paragraph[0]?.start ?? 0,
      end: Math.max(...paragraph.map(({ end }) => end)),
      text: joinTokens(paragraph),
    })),
  );
  return JSON.stringify(
    segments.map(({ speaker, start, end, text: said }, index) => ({
      type: 'transcript.text.segment',
      id: `seg_${String(index + 1).padStart(3, '0')}`,
      start: toMilliseconds(start),
      end: toMilliseconds(end),
      text: said,
      speaker,
    })),
  );
}

const toMilliseconds = (seconds: number): number => Number(seconds.toFixed(3));
