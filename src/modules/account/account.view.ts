import { ApiProperty } from '@nestjs/swagger';
import { ACCOUNT_STATUSES, type AccountStatus, type Plan, planNames } from '../../access/plans.js';

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
