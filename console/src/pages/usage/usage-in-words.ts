import type { VoiceNotes } from 'vnotes';

import { formatLocalDay } from '../../format/date';
import { t } from '../../language/texts';
import { formatHours } from './format-hours';

export type UsageItem = Awaited<ReturnType<VoiceNotes['account']['usage']>>['items'][number];

export function dayName({ day }: UsageItem): string {
  return formatLocalDay(day as string);
}

export function dayInWords(item: UsageItem): string {
  return t('{day}: {figures}', { day: dayName(item), figures: inWords(item) });
}

export function sumInWords(items: readonly UsageItem[]): string {
  const sum = (pick: (item: UsageItem) => number) => items.reduce((total, item) => total + pick(item), 0);
  return inWords({
    recordings_count: sum((item) => item.recordings_count),
    failed_count: sum((item) => item.failed_count),
    total_duration_seconds: sum((item) => item.total_duration_seconds),
  });
}

type Figures = Pick<UsageItem, 'recordings_count' | 'failed_count' | 'total_duration_seconds'>;

function inWords({ recordings_count: count, failed_count: failed, total_duration_seconds: seconds }: Figures): string {
  return t('{count, plural, one {# recording} other {# recordings}}, {failed, number} failed, {length} of audio', {
    count,
    failed,
    length: formatHours(seconds),
  });
}
