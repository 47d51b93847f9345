import type { CalibrationPoint } from '../../../modules/transcriptions/engines/calibration.js';
import type { JudgedWord } from './reliability.js';

interface Block {
  count: number;
  confidence: number;
  correct: number;
}

/** Fewer words say little about a share. */
const MIN_WORDS = 50;

/**
 * The mapping from confidence to the share of correct words that never falls and fits best (pool adjacent violators). The
 * words are taken in blocks of similar confidence, and each share is drawn a little towards a half (Laplace), so that no
 * mapping says 0 or 1 because of a few words.
 */
export function fitIsotonic(words: readonly JudgedWord[], minWords = MIN_WORDS): CalibrationPoint[] {
  const pooled: Block[] = [];
  for (const block of blocksOf(words, minWords)) {
    pooled.push(block);
    for (let last = pooled.at(-1), before = pooled.at(-2); last && before; before = pooled.at(-2)) {
      if (shareOf(before) < shareOf(last)) break;
      pooled.splice(-2, 2, merged(before, last));
      last = pooled.at(-1) as Block;
    }
  }
  return pooled.map((block) => [rounded(block.confidence / block.count), rounded(shareOf(block))]);
}

/** Words in the order of their confidence; those of the same confidence are never separated. */
function blocksOf(words: readonly JudgedWord[], minWords: number): Block[] {
  const blocks: Block[] = [];
  let highest = -1;
  for (const { confidence, correct } of words.toSorted((a, b) => a.confidence - b.confidence)) {
    const word = { count: 1, confidence, correct: correct ? 1 : 0 };
    const last = blocks.at(-1);
    if (last && (last.count < minWords || confidence === highest)) blocks.splice(-1, 1, merged(last, word));
    else blocks.push(word);
    highest = confidence;
  }
  const [before, last] = blocks.slice(-2);
  if (before && last && last.count < minWords) blocks.splice(-2, 2, merged(before, last));
  return blocks;
}

const merged = (a: Block, b: Block): Block => ({
  count: a.count + b.count,
  confidence: a.confidence + b.confidence,
  correct: a.correct + b.correct,
});

const shareOf = ({ count, correct }: Block): number => (correct + 1) / (count + 2);
const rounded = (value: number): number => Number(value.toFixed(4));
