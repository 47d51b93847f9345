import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { END_USER_RIGHTS, type EndUserRight } from '../../access/principal.js';
import { IsListOf, IsOmittable, IsText, IsValid } from '../../platform/http/input/rules.js';
import { malformedUrl, MAX_URL_CHARACTERS, OUTGOING_URL_PATTERN } from '../../platform/http/outgoing/address-rules.js';
import { pageFields, PageFields, type PageQuery, type PageResult } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { MAX_KEYS, type PublicJwk, publicKeysProblem } from './public-keys.js';
import type { TokenIssuer } from './token-issuer.entity.js';

const JWKS_URL = 'https://login.example.com/.well-known/jwks.json';
const KEY_LIST = { type: 'array', items: { type: 'object', additionalProperties: true } } as const;

function IsJwksUrl(): PropertyDecorator {
  return applyDecorators(
    IsValid('isJwksUrl', (value) =>
      typeof value === 'string' ? malformedUrl(value) : 'must be an absolute https URL',
    ),
    ApiProperty({ maxLength: MAX_URL_CHARACTERS, pattern: OUTGOING_URL_PATTERN, example: JWKS_URL }),
  );
}

function IsPublicKeys(): PropertyDecorator {
  return applyDecorators(
    IsValid('isPublicKeys', publicKeysProblem),
    ApiProperty({ ...KEY_LIST, minItems: 1, maxItems: MAX_KEYS }),
  );
}

export class TokenIssuerDto {
  /**
   * The claim `iss` of the tokens.
   * @example https://login.example.com/
   */
  @IsText(1, 255)
  issuer: string;

  /** Where the issuer publishes its public keys, as https URL with a public host. Either this or `keys`. */
  @IsOmittable()
  @IsJwksUrl()
  jwks_url?: string;

  /** The public keys of the issuer, as JWK. Either this or `jwks_url`. */
  @IsOmittable()
  @IsPublicKeys()
  keys?: PublicJwk[];

  /**
   * What the tokens may do beside uploading, with recordings of their own end user: `read` lists and gets them, `delete`
   * deletes them. Nothing by default.
   * @example ["read"]
   */
  @IsOmittable()
  @IsListOf(END_USER_RIGHTS, 'a right')
  allows?: EndUserRight[];
}

const EXAMPLE_ID = '019aa5c6-7d80-7b1f-9a2c-3d4e5f607182';

export class TokenIssuerView {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'https://login.example.com/' })
  issuer: string;

  /** What the claim `aud` of the tokens must be, or contain: the id of the account. */
  @ApiProperty({ example: '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d' })
  audience: string;

  @ApiProperty({ type: String, nullable: true, example: JWKS_URL })
  jwks_url: string | null;

  @ApiProperty({ ...KEY_LIST, nullable: true, example: null })
  keys: PublicJwk[] | null;

  @ApiProperty({ enum: END_USER_RIGHTS, isArray: true, example: ['read'] })
  allows: EndUserRight[];

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  updated_at: string;

  @ApiProperty({ example: `/v1/account/token-issuers/${EXAMPLE_ID}` })
  uri: string;
}

export class TokenIssuerPage extends PageFields {
  token_issuers: TokenIssuerView[];
}

export function presentTokenIssuer(issuer: TokenIssuer): TokenIssuerView {
  return {
    id: issuer.id,
    issuer: issuer.issuer,
    audience: issuer.accountId,
    jwks_url: issuer.jwksUrl,
    keys: issuer.keys,
    allows: issuer.allows,
    created_at: resourceTime(issuer.createdAt),
    updated_at: resourceTime(issuer.updatedAt),
    uri: `/v1/account/token-issuers/${issuer.id}`,
  };
}

export const presentTokenIssuerPage = (query: PageQuery, found: PageResult<TokenIssuer>): TokenIssuerPage => ({
  token_issuers: found.items.map(presentTokenIssuer),
  ...pageFields('/v1/account/token-issuers', query, found),
});
