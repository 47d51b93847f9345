import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsIntegerOrNull } from '../../platform/http/input/rules.js';
import type { AuditSettings } from './audit-settings.service.js';

/** Days. Less would let somebody hide soon what they did. */
export const MIN_AUDIT_DAYS = 30;
export const MAX_AUDIT_DAYS = 3650;

export class AuditLogSettingsDto {
  /** Whether requests that only read leave entries, too. */
  @IsBoolean()
  @ApiProperty({ example: true })
  records_reads: boolean;

  /** Days after which entries are removed. Null: never. */
  @IsIntegerOrNull(MIN_AUDIT_DAYS, MAX_AUDIT_DAYS)
  @ApiProperty({ example: 365 })
  retain_days: number | null;
}

export class AuditLogSettingsView {
  @ApiProperty({ example: true })
  records_reads: boolean;

  /** Null: entries are kept for ever. */
  @ApiProperty({ type: 'integer', nullable: true, example: 365 })
  retain_days: number | null;

  @ApiProperty({ example: '/v1/account/audit-log/settings' })
  uri: string;
}

export const presentAuditSettings = ({ recordsReads, retainDays }: AuditSettings): AuditLogSettingsView => ({
  records_reads: recordsReads,
  retain_days: retainDays,
  uri: '/v1/account/audit-log/settings',
});
