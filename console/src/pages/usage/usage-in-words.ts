import type { VoiceNotes } from 'vnotes';

import { formatDay } from '../../format/date';
import { formatHours } from './format-hours';

export type UsageItem = Awaited<ReturnType<VoiceNotes['account']['usage']>>['items'][number];

/** At noon the day is the same one nearly everywhere. */
export function dayName({ day }: UsageItem): string {
  return formatDay(`${day}T12:00:00`);
}

export function dayInWords(item: UsageItem): string {
  return `${dayName(item)}: ${inWords(item)}`;
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
  const recordings = count === 1 ? '1 recording' : `${count.toLocaleString('en')} recordings`;
  return `${recordings}, ${failed.toLocaleString('en')} failed, ${formatHours(seconds)} of audio`;
}
