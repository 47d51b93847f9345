import { ApiProperty } from '@nestjs/swagger';
import type { Scope } from '../../access/scopes.js';
import { creationTime } from '../../platform/http/timestamps.js';

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
