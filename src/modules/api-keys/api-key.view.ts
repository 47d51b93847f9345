import { ApiProperty } from '@nestjs/swagger';
import { type Scope, SCOPES } from '../../access/scopes.js';
import { API_KEY_STATUSES, type ApiKeyStatus } from './api-key-status.js';

const EXAMPLE_ID = '019aa5c0-5b1c-7f0e-8c53-5d0c7f1b9a10';

export class ApiKeyView {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d', format: 'uuid' })
  tenant_id: string;

  @ApiProperty({ example: 'Phone app' })
  name: string;

  @ApiProperty({ example: 'vnk_3Fq8ZkT1' })
  key_prefix: string;

  @ApiProperty({ enum: () => SCOPES, isArray: true })
  scopes: Scope[];

  @ApiProperty({ enum: API_KEY_STATUSES })
  status: ApiKeyStatus;

  @ApiProperty({ type: String, nullable: true, example: '2026-11-21T10:15:00' })
  last_used_at: string | null;

  @ApiProperty({ type: 'integer', example: 12 })
  usage_count: number;

  @ApiProperty({ type: String, nullable: true, example: null })
  expires_at: string | null;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  updated_at: string;

  @ApiProperty({ example: `/v1/account/api-keys/${EXAMPLE_ID}` })
  uri: string;
}

export class SingleApiKeyView extends ApiKeyView {
  @ApiProperty({ type: String, nullable: true, example: 'Uploads from the phone app' })
  description: string | null;

  /** Id of the key that created this one; null if the operator did. */
  @ApiProperty({ type: String, nullable: true, example: null })
  created_by: string | null;
}

/** The only answer that ever holds the pair. */
export class CreatedApiKeyView {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'Phone app' })
  name: string;

  @ApiProperty({ example: 'vnk_3Fq8ZkT1' })
  key_prefix: string;

  @ApiProperty({ example: 'vnk_3Fq8ZkT1mWv5Yc0Rb7Nd2LxP' })
  api_key: string;

  @ApiProperty({ example: 'vns_<43 characters and a checksum of 6>' })
  api_secret: string;

  @ApiProperty({ enum: () => SCOPES, isArray: true })
  scopes: Scope[];

  @ApiProperty({ enum: API_KEY_STATUSES })
  status: ApiKeyStatus;

  @ApiProperty({ example: '2026-11-21T10:15:00.250Z' })
  created_at: string;

  @ApiProperty({ example: `/v1/account/api-keys/${EXAMPLE_ID}` })
  uri: string;

  @ApiProperty({ enum: ['API_KEY_CREATED'] })
  code: 'API_KEY_CREATED';
}
