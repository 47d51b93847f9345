import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { type Scope, SCOPES } from '../../access/scopes.js';
import { PageQuery } from '../../platform/http/page.js';
import { IsFilter, IsFutureInstant, IsListOf, IsOmittable, IsText } from '../../platform/http/input/rules.js';
import { API_KEY_STATUSES, type ApiKeyStatus } from './api-key-status.js';

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
}

export class ListApiKeysQuery extends PageQuery {
  /** Lists only keys with this status. By default, all keys but the revoked ones. */
  @IsOmittable()
  @IsFilter(API_KEY_STATUSES)
  status?: ApiKeyStatus;
}

export class RevokeApiKeyQuery {
  /** `true` also revokes the keys that the key created, those that they created, and so on. */
  @IsOmittable()
  @IsFilter(['true', 'false'])
  descendants?: 'true' | 'false';
}
