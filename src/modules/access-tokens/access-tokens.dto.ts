import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInteger, IsOmittable, IsText } from '../../platform/http/input/rules.js';

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
