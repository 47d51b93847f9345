import { distinct } from '../../../platform/vocabulary.js';
import type { TranscriptionEngine } from './transcription-engine.js';

/** Where terms come from, each list with the most important first. */
export interface VocabularySources {
  upload: readonly string[];
  account: readonly string[];
}

/**
 * What all terms of a request may cost together. Whisper reads the last 224 tokens of a prompt, and other models get
 * worse with long lists.
 */
const MAX_COST = 200;

/**
 * The terms that an engine gets with each chunk: those of the upload, then those of the account, as far as they fit. The
 * engine may take none.
 */
export function vocabularyFor(
  { maxVocabularyTerms = 0 }: Pick<TranscriptionEngine, 'maxVocabularyTerms'>,
  sources: VocabularySources | undefined,
): string[] {
  if (!sources) return [];
  let cost = 0;
  const terms: string[] = [];
  for (const term of distinct([...sources.upload, ...sources.account])) {
    if (terms.length >= maxVocabularyTerms) break;
    if (cost + costOf(term) > MAX_COST) continue;
    cost += costOf(term);
    terms.push(term);
  }
  return terms;
}

/** Upper estimate in tokens, with the separator: a token is two ASCII letters, or one byte of another letter. */
function costOf(term: string): number {
  const bytes = Buffer.byteLength(term);
  const ascii = term.replaceAll(/[^\x20-\x7e]/g, '').length;
  return Math.ceil(ascii / 2) + (bytes - ascii) + 1;
}

/** Null without any terms. */
export function sourcesOf(upload: readonly string[] | null, account: readonly string[]): VocabularySources | null {
  return (upload?.length ?? 0) + account.length > 0 ? { upload: upload ?? [], account } : null;
}
