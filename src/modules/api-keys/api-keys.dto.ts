import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsIn, IsOptional, ValidateIf } from 'class-validator';
import { type Scope, SCOPES } from '../../access/scopes.js';
import { PageQuery } from '../../platform/http/page.js';
import { IsFutureInstant, IsText } from '../../platform/http/input/rules.js';
import { API_KEY_STATUSES, type ApiKeyStatus } from './api-key.entity.js';

const SCOPES_RULE = { message: `$property must be a list of at least one of ${SCOPES.join(', ')}, without repeats` };

export class CreateApiKeyDto {
  /** What the key is for. */
  @ApiProperty({ example: 'Phone app' })
  @IsText(1, 100)
  name: string;

  /**
   * More words on that.
   * @example Uploads from the phone app
   */
  @IsOptional()
  @IsText(0, 500)
  description?: string | null;

  /**
   * Those of the creating key when left out; never more than those.
   * @example ["recordings:read", "recordings:write"]
   */
  @ValidateIf((dto: CreateApiKeyDto) => dto.scopes !== undefined)
  @IsArray(SCOPES_RULE)
  @ArrayNotEmpty(SCOPES_RULE)
  @ArrayUnique(SCOPES_RULE)
  @IsIn(SCOPES, { each: true, ...SCOPES_RULE })
  scopes?: Scope[];

  /**
   * When the key stops working; never when left out.
   * @example 2030-01-31T12:00:00Z
   */
  @IsOptional()
  @IsFutureInstant()
  expires_at?: string | null;
}

export class ListApiKeysQuery extends PageQuery {
  /** Without it, all keys that are not revoked. */
  @ValidateIf((query: ListApiKeysQuery) => query.status !== undefined)
  @IsIn(API_KEY_STATUSES, { message: `$property must be one of ${API_KEY_STATUSES.join(', ')}` })
  status?: ApiKeyStatus;
}
