import type { ExportSource } from './cues.js';
import { paragraphsOf } from './paragraphs.js';
import { subRipOf, webVttOf } from './subtitles.js';
import type { TranscriptionFormat } from './transcription-format.js';

/** A transcript as it is stored, and the form that is wanted. */
export interface ExportInput extends Omit<ExportSource, 'words'> {
  format: Exclude<TranscriptionFormat, 'json'>;
  /** JSON text of the list. */
  words: string;
}

/** A function for threads: of a long recording it takes a second. */
export function renderExport({ format, words, ...rest }: ExportInput): string {
  if (format === 'text') return rest.text;
  const source: ExportSource = { ...rest, words: JSON.parse(words) as ExportSource['words'] };
  if (format === 'paragraphs') return paragraphsOf(source);
  return format === 'srt' ? subRipOf(source) : webVttOf(source);
}
