import { ApiProperty } from '@nestjs/swagger';
import type { UsageItem, UsageReportOptions, UsageReport } from '../../recordings/usage-counters/usage.service.js';
import { USAGE_GROUPS, type UsageQuery } from './usage.dto.js';

export class UsageItemView {
  /** Only by day. */
  @ApiProperty({ example: '2026-11-21', format: 'date', required: false })
  day?: string;

  /** Only by key; null for recordings without one, made before keys were counted. */
  @ApiProperty({ type: String, nullable: true, required: false, example: '019aa5c0-5b1f-7e19-8f9c-2f4c8a6d7e10' })
  key_id?: string | null;

  /** Only by user; null for recordings without an end user. */
  @ApiProperty({ type: String, nullable: true, required: false, example: 'user-4711' })
  user_id?: string | null;

  /** Recordings created in the period, also those deleted since. */
  @ApiProperty({ type: 'integer', example: 42 })
  recordings_count: number;

  /** How many of them were transcribed. */
  @ApiProperty({ type: 'integer', example: 40 })
  transcribed_count: number;

  /** How many of them failed, and were not transcribed by a retry. */
  @ApiProperty({ type: 'integer', example: 1 })
  failed_count: number;

  /** Seconds of audio of the same recordings. */
  @ApiProperty({ example: 1893.4 })
  total_duration_seconds: number;

  /** Bytes that they still occupy. */
  @ApiProperty({ type: 'integer', example: 15_482_880 })
  storage_used_bytes: number;
}

export class UsageReportView {
  @ApiProperty({ type: 'integer', example: 30 })
  days: number;

  @ApiProperty({ enum: USAGE_GROUPS })
  by: (typeof USAGE_GROUPS)[number];

  /** First day (UTC). */
  @ApiProperty({ example: '2026-10-24', format: 'date' })
  from: string;

  /** Last day (UTC): the present one. */
  @ApiProperty({ example: '2026-11-22', format: 'date' })
  to: string;

  @ApiProperty({ type: [UsageItemView] })
  items: UsageItemView[];

  /** Path of this page. */
  @ApiProperty({ example: '/v1/account/usage?days=30&by=day' })
  uri: string;

  /** Path of the next page; null on the last page. */
  @ApiProperty({ type: String, nullable: true, example: null })
  next_uri: string | null;
}

/** The keys of an item depend on what is asked for. */
export const USAGE_EXAMPLE = {
  items: [
    {
      day: '2026-11-22',
      recordings_count: 42,
      transcribed_count: 40,
      failed_count: 1,
      total_duration_seconds: 1893.4,
      storage_used_bytes: 15_482_880,
    },
  ],
};

export function presentUsageReport(
  query: UsageQuery,
  options: UsageReportOptions,
  report: UsageReport,
): UsageReportView {
  const { days, by } = options;
  return {
    days,
    by,
    from: report.from,
    to: report.to,
    items: report.items.map((item) => presentItem(by, item)),
    uri: uriOf(options, query.after),
    next_uri: report.next === null ? null : uriOf(options, report.next),
  };
}

function presentItem(by: UsageReportOptions['by'], item: UsageItem): UsageItemView {
  return {
    ...(by === 'day' ? { day: item.value } : { [`${by}_id`]: item.value || null }),
    recordings_count: item.recordings,
    transcribed_count: item.transcribed,
    failed_count: item.failed,
    total_duration_seconds: item.durationMs / 1000,
    storage_used_bytes: item.bytes,
  };
}

function uriOf({ days, by, limit }: UsageReportOptions, after: string | undefined): string {
  const parameters = new URLSearchParams({ days: `${days}`, by });
  if (by !== 'day') parameters.set('limit', `${limit}`);
  if (after !== undefined) parameters.set('after', after);
  return `/v1/account/usage?${parameters.toString()}`;
}
