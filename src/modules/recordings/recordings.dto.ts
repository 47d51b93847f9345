import { IsIn, ValidateIf } from 'class-validator';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { PageQuery } from '../../platform/http/page.js';
import { IsDay } from '../../platform/http/input/rules.js';
import { RECORDING_STATUSES, type RecordingStatus } from './recording.entity.js';

export class ListRecordingsQuery extends PageQuery {
  @ValidateIf((query: ListRecordingsQuery) => query.status !== undefined)
  @IsIn(RECORDING_STATUSES, { message: `$property must be one of ${RECORDING_STATUSES.join(', ')}` })
  status?: RecordingStatus;

  /**
   * First UTC day, inclusive.
   * @example 2026-11-01
   */
  @ValidateIf((query: ListRecordingsQuery) => query.date_from !== undefined)
  @IsDay()
  date_from?: string;

  /**
   * Last UTC day, inclusive.
   * @example 2026-11-30
   */
  @ValidateIf((query: ListRecordingsQuery) => query.date_to !== undefined)
  @IsDay()
  date_to?: string;
}

/** @throws InvalidRequestError when the first day comes after the last. */
export function checkDays({ date_from, date_to }: ListRecordingsQuery): void {
  if (date_from !== undefined && date_to !== undefined && date_from > date_to) {
    throw new InvalidRequestError({ field: 'date_from', reason: 'must not be after date_to' });
  }
}
