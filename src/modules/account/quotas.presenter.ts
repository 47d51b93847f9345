import { ApiProperty } from '@nestjs/swagger';
import { QUOTA_NAMES, type QuotaName, type Quotas } from '../../access/quotas.js';
import { type QuotaOverview, quotaResetsAt } from '../recordings/quotas/quotas.service.js';

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
