import { ApiProperty } from '@nestjs/swagger';
import {
  ACCOUNT_STATUSES,
  type AccountStatus,
  type Plan,
  planNames,
  QUOTA_NAMES,
  type QuotaName,
  type Quotas,
} from '../../access/plans.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import {
  IsFilter,
  IsIntegerParameter,
  IsOmittable,
  IsOneOfOrNull,
  IsIntegerOrNull,
  IsSpeakersOrNull,
  IsText,
  IsValid,
  IsVocabulary,
} from '../../platform/http/input/rules.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { type Speakers, SPEAKERS_SCHEMAS, speakersOf } from '../../platform/speakers.js';
import { type QuotaOverview, quotaResetsAt } from '../recordings/quotas.service.js';
import {
  type DeletionPosition,
  MAX_RETAIN_DAYS,
  type RetentionPolicy,
  type UpcomingDeletion,
} from '../recordings/retention/retention.service.js';
import type { UsageItem, UsageReport, UsageReportOptions } from '../recordings/usage-counters/usage.service.js';

export class UsagePeriodView {
  /** Recordings created in the month, also those deleted since. */
  @ApiProperty({ example: 42, type: 'integer' })
  recordings_count: number;

  /** Seconds of audio of the same recordings. */
  @ApiProperty({ example: 1893.4 })
  total_duration_seconds: number;

  /** Bytes that the month's recordings still occupy. */
  @ApiProperty({ example: 15_482_880, type: 'integer' })
  storage_used_bytes: number;
}

export class UsageView {
  current_month: UsagePeriodView;
  previous_month: UsagePeriodView;
}

export class AccountView {
  @ApiProperty({ example: '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d', format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'Acme Corp' })
  name: string;

  @ApiProperty({ example: 'ops@acme.example' })
  email: string;

  @ApiProperty({ enum: ACCOUNT_STATUSES })
  status: AccountStatus;

  @ApiProperty({ enum: planNames })
  plan: Plan;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  updated_at: string;

  usage: UsageView;

  @ApiProperty({ example: '/v1/account' })
  uri: string;
}

export class QuotaView {
  @ApiProperty({ enum: Object.values(QUOTA_NAMES), example: QUOTA_NAMES.audioSecondsPerMonth })
  quota: QuotaName;

  /** Null when it is unlimited. */
  @ApiProperty({ example: 36_000, type: 'integer', nullable: true })
  limit: number | null;

  /** Bytes, seconds of audio or uploads. */
  @ApiProperty({ example: 1893.4 })
  used: number;

  /** When `used` is reset to 0. Null where it goes down as recordings are deleted, transcribed or stored. */
  @ApiProperty({ example: '2026-12-01T00:00:00', type: 'string', nullable: true })
  resets_at: string | null;
}

export class QuotasView {
  @ApiProperty({ type: [QuotaView] })
  quotas: QuotaView[];

  @ApiProperty({ example: '/v1/account/quotas' })
  uri: string;
}

export function presentQuotas(limits: Quotas, usage: QuotaOverview): QuotasView {
  const view = (name: keyof Quotas, used: number, resetsAt: string | null = null): QuotaView => ({
    quota: QUOTA_NAMES[name],
    limit: limits[name],
    used,
    resets_at: resetsAt,
  });
  return {
    quotas: [
      view('storedBytes', usage.storedBytes),
      view('audioSecondsPerMonth', usage.monthMs / 1000, quotaResetsAt(new Date())),
      view('queuedAudioSeconds', usage.queuedMs / 1000),
      view('concurrentUploads', usage.concurrentUploads),
    ],
    uri: '/v1/account/quotas',
  };
}

export const USAGE_GROUPS = ['day', 'key', 'user'] as const;

export class UsageQuery {
  /** Number of days (UTC), the present one included. */
  @IsOmittable()
  @IsIntegerParameter(1, 365)
  days: number = 30;

  /** What the figures are broken down by. */
  @IsOmittable()
  @IsFilter(USAGE_GROUPS)
  by: (typeof USAGE_GROUPS)[number] = 'day';

  /** Number of items on a page, by key or user. Default: 50. */
  @IsOmittable()
  @IsIntegerParameter(1, 100)
  limit?: number;

  /** Cursor from `next_uri`: lists the keys or users after this one. */
  @IsOmittable()
  @IsText(0, 255)
  after?: string;
}

/** @throws InvalidRequestError for pages of days: there is one item for each. */
export function reportOptionsOf({ days, by, limit, after }: UsageQuery): UsageReportOptions {
  for (const [field, value] of Object.entries({ limit, after })) {
    if (by === 'day' && value !== undefined)
      throw new InvalidRequestError({ field, reason: 'is only for by=key and by=user' });
  }
  return { days, by, limit: limit ?? 50, after: after ?? null };
}

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

export class VocabularyDto {
  /** Names and words to expect, the most important first. Replaces the list before; an empty list removes it. */
  @IsVocabulary()
  vocabulary: string[];
}

export class VocabularyView {
  /** Without white space around terms, and each term once. */
  @ApiProperty({ type: [String], example: ['Grafana', 'Zoë'] })
  vocabulary: string[];
}

export class AccountSpeakersDto {
  /** Speakers to tell apart in recordings whose upload says nothing of them: a number, or `auto`. Null: none. */
  @IsSpeakersOrNull()
  @ApiProperty({ example: 'auto' })
  speakers: Speakers | null;
}

export class AccountSpeakersView {
  /** A number, or `auto` for as many as there are. Null: none are told apart. */
  @ApiProperty({ oneOf: SPEAKERS_SCHEMAS, nullable: true, example: 'auto' })
  speakers: Speakers | null;

  @ApiProperty({ example: '/v1/account/speakers' })
  uri: string;
}

export const presentSpeakers = (stored: number | null): AccountSpeakersView => ({
  speakers: stored === null ? null : speakersOf(stored),
  uri: '/v1/account/speakers',
});

export class RetentionDto {
  /** Days after which the audio of a recording is deleted. Null: never. */
  @IsIntegerOrNull(1, MAX_RETAIN_DAYS)
  @ApiProperty({ example: 30 })
  retain_audio_days: number | null;

  /** Days after which a recording is deleted with its text and its audio. Null: never. */
  @IsIntegerOrNull(1, MAX_RETAIN_DAYS)
  @ApiProperty({ example: 365 })
  retain_text_days: number | null;

  /** `transcribed`: the audio is deleted once the recording is transcribed. Null: not for that reason. */
  @IsOneOfOrNull(['transcribed'])
  @ApiProperty({ example: null })
  delete_audio_after: 'transcribed' | null;
}

export class RetentionView {
  /** Null: the audio is kept for as long as the recording. */
  @ApiProperty({ type: 'integer', nullable: true, example: 30 })
  retain_audio_days: number | null;

  /** Null: recordings are kept for ever. */
  @ApiProperty({ type: 'integer', nullable: true, example: 365 })
  retain_text_days: number | null;

  @ApiProperty({ type: String, nullable: true, enum: ['transcribed', null], example: null })
  delete_audio_after: 'transcribed' | null;

  @ApiProperty({ example: '/v1/account/retention' })
  uri: string;
}

export const policyOf = (dto: RetentionDto): RetentionPolicy => ({
  retainAudioDays: dto.retain_audio_days,
  retainTextDays: dto.retain_text_days,
  deleteAudioAfter: dto.delete_audio_after,
});

export const presentRetention = ({
  retainAudioDays,
  retainTextDays,
  deleteAudioAfter,
}: RetentionPolicy): RetentionView => ({
  retain_audio_days: retainAudioDays,
  retain_text_days: retainTextDays,
  delete_audio_after: deleteAudioAfter,
  uri: '/v1/account/retention',
});

/** Microseconds since 1970 and the id of a recording: where the next page begins. */
const CURSOR = /^(\d{1,17})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const checkCursor = (value: unknown): string | null =>
  typeof value === 'string' && CURSOR.test(value) ? null : 'must be the cursor of a next_uri';

export class UpcomingDeletionsQuery {
  /** Number of deletions on a page. */
  @IsOmittable()
  @IsIntegerParameter(1, 100)
  limit: number = 50;

  /** Cursor from `next_uri`: lists what follows. */
  @IsOmittable()
  @IsValid('isCursor', checkCursor)
  @ApiProperty({ pattern: CURSOR.source, example: '1795600300000000-019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60' })
  after?: string;
}

export class UpcomingDeletionView {
  @ApiProperty({ example: '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60', format: 'uuid' })
  recording_id: string;

  /** What is deleted: the audio alone, or the whole recording. */
  @ApiProperty({ enum: ['audio', 'recording'], example: 'audio' })
  deletes: 'audio' | 'recording';

  /** When. A recording that is transcribed then, or is on hold, waits until that has ended. */
  @ApiProperty({ example: '2026-12-21T10:15:00' })
  expires_at: string;

  @ApiProperty({ example: false })
  on_hold: boolean;

  @ApiProperty({ example: '/v1/recordings/019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60' })
  recording_uri: string;
}

export class UpcomingDeletionsView {
  @ApiProperty({ type: [UpcomingDeletionView] })
  items: UpcomingDeletionView[];

  /** Path of this page. */
  @ApiProperty({ example: '/v1/account/retention/upcoming?limit=50' })
  uri: string;

  /** Path of the next page; null on the last page. */
  @ApiProperty({ type: String, nullable: true, example: null })
  next_uri: string | null;
}

export function deletionPositionOf({ after }: UpcomingDeletionsQuery): DeletionPosition | null {
  const [, dueMicros, id] = CURSOR.exec(after ?? '') ?? [];
  return dueMicros === undefined || id === undefined ? null : { dueMicros, id };
}

/** @param found one more than the page has, if another page follows */
export function presentUpcoming(
  { limit, after }: UpcomingDeletionsQuery,
  found: readonly UpcomingDeletion[],
): UpcomingDeletionsView {
  const pageUri = (cursor: string | undefined): string =>
    `/v1/account/retention/upcoming?limit=${limit}${cursor === undefined ? '' : `&after=${cursor}`}`;
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  return {
    items: items.map(({ id, dueAt, isAll, isHeld }) => ({
      recording_id: id,
      deletes: isAll ? 'recording' : 'audio',
      expires_at: resourceTime(dueAt),
      on_hold: isHeld,
      recording_uri: `/v1/recordings/${id}`,
    })),
    uri: pageUri(after),
    next_uri: last ? pageUri(`${last.dueMicros}-${last.id}`) : null,
  };
}
