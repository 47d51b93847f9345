import { PageQuery } from '../../platform/http/page.js';
import { IsDay, IsFilter, IsOmittable } from '../../platform/http/input/rules.js';
import { RECORDING_STATUSES, type RecordingStatus } from './recording.entity.js';

export class ListRecordingsQuery extends PageQuery {
  /** Lists only recordings with this status. */
  @IsOmittable()
  @IsFilter(RECORDING_STATUSES)
  status?: RecordingStatus;

  /**
   * First day of creation (UTC), inclusive.
   * @example 2026-11-01
   */
  @IsOmittable()
  @IsDay()
  date_from?: string;

  /**
   * Last day of creation (UTC), inclusive.
   * @example 2026-11-30
   */
  @IsOmittable()
  @IsDay()
  date_to?: string;
}
