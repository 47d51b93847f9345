import { ApiProperty } from '@nestjs/swagger';
import { resourceTime } from '../../platform/http/timestamps.js';
import type { AccountExport } from './account-export.entity.js';

const EXAMPLE_ID = '019aa5c8-2c40-7e1b-9d3f-5a6b7c8d9e0f';
const STATUSES = ['preparing', 'ready', 'failed'] as const;

export class AccountExportView {
  /** Identifies this archive. */
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ enum: STATUSES, example: 'ready' })
  status: AccountExport['status'];

  /** Of the archive; null until it is ready. */
  @ApiProperty({ type: 'integer', nullable: true, example: 734_003_200 })
  size_bytes: number | null;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  /** When the archive is removed. */
  @ApiProperty({ example: '2026-11-22T10:15:00' })
  expires_at: string;

  @ApiProperty({ example: '/v1/account/export' })
  uri: string;

  /** Null until it is ready. */
  @ApiProperty({ type: String, nullable: true, example: '/v1/account/export/archive' })
  archive_uri: string | null;
}

export const presentAccountExport = ({
  id,
  status,
  sizeBytes,
  createdAt,
  expiresAt,
}: AccountExport): AccountExportView => ({
  id,
  status,
  size_bytes: sizeBytes === null ? null : Number(sizeBytes),
  created_at: resourceTime(createdAt),
  expires_at: resourceTime(expiresAt),
  uri: '/v1/account/export',
  archive_uri: status === 'ready' ? '/v1/account/export/archive' : null,
});
