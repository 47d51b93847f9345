import { IsFilter, IsOmittable, PageQuery } from 'voice-note-transcription-service';
import { KEYWORDS } from './keywords.js';

export class ListKeywordAlertsQuery extends PageQuery {
  /** Lists only alerts for this keyword. */
  @IsOmittable()
  @IsFilter(KEYWORDS)
  keyword?: string;
}
