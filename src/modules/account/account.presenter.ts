import { ApiProperty } from '@nestjs/swagger';
import { resourceTime } from '../../platform/http/timestamps.js';
import type { UsagePeriod } from '../recordings/usage-counters/usage.service.js';
import type { Account } from './account.entity.js';
import { ACCOUNT_STATUSES, type AccountStatus, type Plan, planNames } from './plans.js';

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

export function presentAccount(account: Account, [current, previous]: [UsagePeriod, UsagePeriod]): AccountView {
  return {
    id: account.id,
    name: account.name,
    email: account.email,
    status: account.status,
    plan: account.plan,
    created_at: resourceTime(account.createdAt),
    updated_at: resourceTime(account.updatedAt),
    usage: { current_month: presentUsage(current), previous_month: presentUsage(previous) },
    uri: '/v1/account',
  };
}

const presentUsage = (usage: UsagePeriod): UsagePeriodView => ({
  recordings_count: usage.recordings,
  total_duration_seconds: usage.durationMs / 1000,
  storage_used_bytes: usage.bytes,
});
