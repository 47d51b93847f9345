import type { TranscriptWord } from '../engines/transcription-engine.js';

/** What the engine has recognised in a whole recording. Word times are seconds from its start. */
export interface FilterableTranscript {
  text: string;
  words: TranscriptWord[];
  /** Lower-case English name. */
  language: string;
}

/**
 * Changes each transcript before anything of it is stored, searched or sent: those of `transcriptFilters` of an
 * extension, in their order. If it throws, the attempt fails, and nothing is stored.
 */
export type TranscriptFilter = (
  transcript: FilterableTranscript,
) => Pick<FilterableTranscript, 'text' | 'words'> | Promise<Pick<FilterableTranscript, 'text' | 'words'>>;

/** Injection token of all filters. */
export const TRANSCRIPT_FILTERS = Symbol('TranscriptFilters');
