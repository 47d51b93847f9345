import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { Scope } from '../../access/scopes.js';
import { IsInteger, IsOmittable, IsText } from '../../platform/http/input/rules.js';
import { creationTime } from '../../platform/http/timestamps.js';

/** Seconds. */
export const DEFAULT_LIFETIME = 3600;

export class CreateAccessTokenDto {
  /**
   * Your name for the end user. Recordings that are uploaded with the token have it as their `user_id`.
   * @example user-4711
   */
  @IsText(1, 255)
  identity: string;

  /**
   * Lifetime in seconds.
   * @example 900
   */
  @ApiPropertyOptional({ default: DEFAULT_LIFETIME })
  @IsOmittable()
  @IsInteger(60, 86_400, '(seconds)')
  expires_in?: number;
}

export class VoidAccessTokensQuery {
  /** Voids only the tokens of this end user. By default, those of all. */
  @IsOmittable()
  @IsText(1, 255)
  identity?: string;
}

export class CreatedAccessTokenView {
  /** A JWT for `Authorization: Bearer`. */
  @ApiProperty({ example: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.…' })
  token: string;

  @ApiProperty({ example: 'user-4711' })
  identity: string;

  /** Always empty: the token is good for uploading, and for nothing that needs a scope. */
  @ApiProperty({ type: [String], example: [] })
  scopes: Scope[];

  @ApiProperty({ example: '2026-11-21T11:15:00.000Z' })
  expires_at: string;

  @ApiProperty({ enum: ['ACCESS_TOKEN_CREATED'] })
  code: 'ACCESS_TOKEN_CREATED';
}

export function presentCreatedAccessToken(identity: string, token: string, expiresAt: Date): CreatedAccessTokenView {
  return { token, identity, scopes: [], expires_at: creationTime(expiresAt), code: 'ACCESS_TOKEN_CREATED' };
}
