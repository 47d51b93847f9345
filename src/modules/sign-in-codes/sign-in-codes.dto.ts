import { ApiProperty } from '@nestjs/swagger';
import { IsText } from '../../platform/http/input/rules.js';
import { creationTime } from '../../platform/http/timestamps.js';
import type { KeyPair, SignInCode } from './sign-in-codes.service.js';

export class ExchangeSignInCodeDto {
  /**
   * The code of `POST /v1/account/sign-in-codes`.
   * @example vnc_Zk3wq1xR8nT5vB2mC7dF0gH4jK6lP9sQaEuYiOoXzNc
   */
  @IsText(1, 100)
  code: string;
}

export class CreatedSignInCodeView {
  /** For one exchange. */
  @ApiProperty({ example: 'vnc_Zk3wq1xR8nT5vB2mC7dF0gH4jK6lP9sQaEuYiOoXzNc' })
  code: string;

  @ApiProperty({ example: '2026-11-21T10:25:00.000Z' })
  expires_at: string;
}

export class ExchangedKeyView {
  @ApiProperty({ example: 'vnk_…' })
  api_key: string;

  @ApiProperty({ example: 'vns_…' })
  api_secret: string;
}

export function presentSignInCode({ code, expiresAt }: SignInCode): CreatedSignInCodeView {
  return { code, expires_at: creationTime(expiresAt) };
}

export function presentExchangedKey({ key, secret }: KeyPair): ExchangedKeyView {
  return { api_key: key, api_secret: secret };
}
