import { computed } from '@preact/signals';

import { formatInstant } from '../../format/date';
import { locale } from '../../language/language';
import { t } from '../../language/texts';

const TIME = computed(() => new Intl.DateTimeFormat(locale.value, { timeStyle: 'short' }));

/** `today 14:02`, or the day and the time. @param at milliseconds since 1970 */
export function formatMoment(at: number, now = Date.now()): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return isToday ? t('today {time}', { time: TIME.value.format(at) }) : formatInstant(at);
}
