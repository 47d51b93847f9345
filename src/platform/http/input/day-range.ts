import { InvalidRequestError } from '../../errors/errors.js';

/** UTC days, both inclusive (D18). */
export interface DayRange {
  date_from?: string;
  date_to?: string;
}

/** @throws InvalidRequestError when the first day comes after the last. */
export function checkDays({ date_from, date_to }: DayRange): void {
  if (date_from !== undefined && date_to !== undefined && date_from > date_to) {
    throw new InvalidRequestError({ field: 'date_from', reason: 'must not be after date_to' });
  }
}
