import { IsFilter, IsOmittable } from '../../platform/http/input/rules.js';
import { TRANSCRIPTION_FORMATS, type TranscriptionFormat } from './exports/transcription-format.js';
import { TRANSCRIPTION_VERSIONS, type TranscriptionVersion } from './transcription-version.js';

export class GetTranscriptionQuery {
  /**
   * Form of the response, whatever `Accept` says: `json`, the plain `text`, subtitles as SubRip (`srt`) or WebVTT (`vtt`), or
   * the text in `paragraphs`.
   */
  @IsOmittable()
  @IsFilter(TRANSCRIPTION_FORMATS)
  format?: TranscriptionFormat;

  /** `original` returns the engine's text, also if the transcription was corrected. */
  @IsOmittable()
  @IsFilter(TRANSCRIPTION_VERSIONS)
  version?: TranscriptionVersion;
}
