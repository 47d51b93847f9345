import type { TranscriptWord } from '../../../modules/transcriptions/engines/transcription-engine.js';
import { alignWords, countErrors } from '../statistics/word-errors.js';
import { comparedUnits, unitNameOf } from '../text/compared-units.js';
import type { FileResult } from './accuracy-result.js';
import type { ManifestEntry } from './manifest.js';

/** What the service has made of a recording. */
interface Recognised {
  text: string;
  confidence: number;
  words: readonly TranscriptWord[];
  durationSeconds: number;
}

/** Compares what was recognised with what was said. A recording that was refused has no text: all of it is missing. */
export function judge(entry: ManifestEntry, recognised: Recognised | { problem: string }): FileResult {
  const problem = 'problem' in recognised ? recognised.problem : null;
  const { text, confidence, words, durationSeconds } =
    'problem' in recognised ? { text: '', confidence: 0, words: [], durationSeconds: 0 } : recognised;
  const said = comparedUnits(entry.ref, entry.lang);
  return {
    file: entry.file,
    lang: entry.lang,
    seconds: durationSeconds,
    ref: entry.ref,
    text,
    errors: countErrors(alignWords(said, comparedUnits(text, entry.lang))),
    unit: unitNameOf(said),
    confidence,
    words: judgedWords(said, words, entry.lang),
    problem,
  };
}

/** A word is correct when all its units were said at its place. Words without confidence or letters are left out. */
function judgedWords(said: readonly string[], words: readonly TranscriptWord[], lang: string | null) {
  const units = words.map(({ word }) => comparedUnits(word, lang));
  const correct = new Set<number>();
  for (const { kind, heard } of alignWords(said, units.flat())) if (kind === 'correct') correct.add(heard);
  let first = 0;
  return words.flatMap(({ word, confidence }, index): FileResult['words'] => {
    const { length } = units[index] as string[];
    const isCorrect = Array.from({ length }, (_, unit) => first + unit).every((unit) => correct.has(unit));
    first += length;
    return confidence === null || length === 0 ? [] : [[word, confidence, isCorrect ? 1 : 0]];
  });
}
