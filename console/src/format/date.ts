import { computed } from '@preact/signals';

import { locale } from '../language/language';
import { t } from '../language/texts';
import { beginningOf } from './local-day';

const FULL = computed(() => new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeStyle: 'short' }));
const DAY = computed(() => new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium' }));
const AGE = computed(() => new Intl.RelativeTimeFormat(locale.value, { numeric: 'auto' }));

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The API writes UTC without a zone, the bodies of events with one. */
export function dateOf(text: string): Date {
  return new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
}

/** Day and time where the person is. @param at milliseconds since 1970 */
export const formatInstant = (at: number): string => FULL.value.format(at);

/** Day and time where the person is. */
export function formatDate(text: string): string {
  return FULL.value.format(dateOf(text));
}

export function formatDay(text: string): string {
  return DAY.value.format(dateOf(text));
}

/** @param day `YYYY-MM-DD`, where the person is */
export const formatLocalDay = (day: string): string => DAY.value.format(beginningOf(day));

/** `just now`, `5 minutes ago`, `yesterday`; the day when it is longer ago than a week. */
export function formatAge(text: string, now = Date.now()): string {
  const ms = dateOf(text).getTime() - now;
  const age = Math.abs(ms);
  if (age < MINUTE_MS) return t('just now');
  if (age < HOUR_MS) return AGE.value.format(Math.trunc(ms / MINUTE_MS), 'minute');
  if (age < DAY_MS) return AGE.value.format(Math.trunc(ms / HOUR_MS), 'hour');
  if (age < 7 * DAY_MS) return AGE.value.format(Math.trunc(ms / DAY_MS), 'day');
  return DAY.value.format(dateOf(text));
}
