import { Injectable } from '@nestjs/common';
import { type Cue, cuesOf, type ExportSource } from './cues.js';
import { paragraphsOf } from './paragraphs.js';
import { subRipOf, webVttOf } from './subtitles.js';
import type { TranscriptionFormat } from './transcription-format.js';

/** A transcript in other forms (D42), for this module and others. */
@Injectable()
export class TranscriptExportsService {
  /** The body of an answer. */
  render(format: Exclude<TranscriptionFormat, 'json'>, source: ExportSource): string {
    if (format === 'text') return source.text;
    if (format === 'paragraphs') return paragraphsOf(source);
    return format === 'srt' ? subRipOf(source) : webVttOf(source);
  }

  cues(source: ExportSource): Cue[] {
    return cuesOf(source);
  }

  subRip(source: ExportSource): string {
    return subRipOf(source);
  }

  webVtt(source: ExportSource): string {
    return webVttOf(source);
  }
}
