import { Injectable } from '@nestjs/common';
import { type Cue, cuesOf, type ExportSource } from './cues.js';
import { paragraphsOf } from './paragraphs.js';
import { subRipOf, webVttOf } from './subtitles.js';

/** A transcript in other forms (D42), for this module and others. */
@Injectable()
export class TranscriptExportsService {
  cues(source: ExportSource): Cue[] {
    return cuesOf(source);
  }

  subRip(source: ExportSource): string {
    return subRipOf(source);
  }

  webVtt(source: ExportSource): string {
    return webVttOf(source);
  }

  paragraphs(source: ExportSource): string {
    return paragraphsOf(source);
  }
}
