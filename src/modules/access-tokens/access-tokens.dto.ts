import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Max, Min, ValidateIf } from 'class-validator';
import { IsText } from '../../platform/http/input/rules.js';

/** Seconds. */
export const DEFAULT_LIFETIME = 3600;

const LIFETIME_RULE = { message: '$property must be an integer from 60 to 86400 (seconds)' };

export class CreateAccessTokenDto {
  /**
   * The end user for whom notes will be uploaded; becomes `user_id` of the recordings.
   * @example user-4711
   */
  @IsText(1, 255)
  identity: string;

  /** Lifetime in seconds. */
  @ApiPropertyOptional({ type: 'integer', default: DEFAULT_LIFETIME })
  @ValidateIf((dto: CreateAccessTokenDto) => dto.expires_in !== undefined)
  @IsInt(LIFETIME_RULE)
  @Min(60, LIFETIME_RULE)
  @Max(86_400, LIFETIME_RULE)
  expires_in?: number;
}
