import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { type Scope, SCOPES } from '../../access/scopes.js';
import {
  IsFilter,
  IsFutureInstant,
  IsListOf,
  IsNetworks,
  IsOmittable,
  IsText,
} from '../../platform/http/input/rules.js';
import { PageFields, PageQuery } from '../../platform/http/page.js';
import {
  API_KEY_MODES,
  API_KEY_STATUSES,
  API_KEY_WARNINGS,
  type ApiKeyMode,
  type ApiKeyStatus,
  type ApiKeyWarning,
} from './api-key.entity.js';

export class CreateApiKeyDto {
  /** Name of the key. */
  @ApiProperty({ example: 'Phone app' })
  @IsText(1, 100)
  name: string;

  /**
   * Optional description.
   * @example Uploads from the phone app
   */
  @IsOptional()
  @IsText(0, 500)
  description?: string | null;

  /**
   * Scopes of the key, all of which the creating key must hold. Defaults to the scopes of the creating key.
   * @example ["recordings:read", "recordings:write"]
   */
  @IsOmittable()
  @IsListOf(SCOPES, 'a scope')
  scopes?: Scope[];

  /**
   * Time at which the key expires, as ISO 8601 with a zone. A key expires no later than the one that creates it: a later
   * time, or none, gives the time of the creating key.
   * @example 2030-01-31T12:00:00Z
   */
  @IsOptional()
  @IsFutureInstant()
  expires_at?: string | null;

  /**
   * Networks from which the key may be used; requests from elsewhere are refused with 403. Each lies within those of the
   * creating key. Defaults to those of the creating key; without any, the key may be used from anywhere.
   * @example ["203.0.113.0/24", "2001:db8::/32"]
   */
  @IsOmittable()
  @IsNetworks()
  allowed_addresses?: string[];

  /**
   * `test` creates a key for tests: it sees no data of the account, and the name of each file that it uploads says how
   * the transcription ends. Defaults to the mode of the creating key. A test key creates only test keys.
   * @example live
   */
  @IsOmittable()
  @IsFilter(API_KEY_MODES)
  mode?: ApiKeyMode;
}

const API_KEY_INCLUSIONS = ['warnings', 'creator'] as const;
export type ApiKeyInclusion = (typeof API_KEY_INCLUSIONS)[number];

export class ListApiKeysQuery extends PageQuery {
  /** `test` lists the test keys of the account. Defaults to the mode of the key that asks; a test key sees only these. */
  @IsOmittable()
  @IsFilter(API_KEY_MODES)
  mode?: ApiKeyMode;

  /** Lists only keys with this status. By default, all keys but the revoked ones. */
  @IsOmittable()
  @IsFilter(API_KEY_STATUSES)
  status?: ApiKeyStatus;

  /** `warnings` adds the list of warnings to each key, `creator` the person who created it. */
  @IsOmittable()
  @IsFilter(API_KEY_INCLUSIONS)
  include?: ApiKeyInclusion;
}

export class GetApiKeyQuery {
  /** `warnings` adds the list of warnings, `creator` the person who created the key. */
  @IsOmittable()
  @IsFilter(API_KEY_INCLUSIONS)
  include?: ApiKeyInclusion;
}

export class RevokeApiKeyQuery {
  /** `true` also revokes the keys that the key created, those that they created, and so on. */
  @IsOmittable()
  @IsFilter(['true', 'false'])
  descendants?: 'true' | 'false';
}

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

  /** Networks from which the key may be used. Only of a key that has some. */
  @ApiPropertyOptional({ type: [String], example: ['203.0.113.0/24'] })
  allowed_addresses?: string[];

  /**
   * Only with `include=warnings`. `expires_soon`: the key expires within 14 days. `unused`: it was not used for 90 days.
   * Empty for a key that is not active.
   */
  @ApiPropertyOptional({ enum: API_KEY_WARNINGS, isArray: true, example: ['expires_soon'] })
  warnings?: ApiKeyWarning[];

  /** Only with `include=creator`: id of the person who created the key; null if a key or the operator did. */
  @ApiPropertyOptional({ type: String, nullable: true, example: '019aa5c7-0a1b-7c2d-8e3f-4a5b6c7d8e9f' })
  created_by_person?: string | null;
}

export class ApiKeyPage extends PageFields {
  api_keys: ApiKeyView[];
}

export class SingleApiKeyView extends ApiKeyView {
  @ApiProperty({ type: String, nullable: true, example: 'Uploads from the phone app' })
  description: string | null;

  /** Id of the key that created this one; null if a person or the operator did. */
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
