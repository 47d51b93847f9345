import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { IsOmittable, IsText, IsValid } from '../../../platform/http/input/rules.js';
import { PageFields, pageFields, type PageQuery, type PageResult } from '../../../platform/http/page.js';
import { resourceTime } from '../../../platform/http/timestamps.js';
import { MAX_PASSWORD } from '../sessions.dto.js';
import { CHALLENGE_MS } from './passkey-challenges.service.js';
import type { Passkey } from './passkey.entity.js';
import { userHandleOf } from './passkey-sign-ins.service.js';
import type { RegistrationChallenge } from './passkeys.service.js';
import { ALGORITHMS, type RelyingParty } from './web-authn.js';

/** What authenticators show beside the name of the host. */
const RELYING_PARTY_NAME = 'Voice notes';
const BASE64URL = /^[\w-]+$/;
/** Ids of credentials have up to 1,023 bytes. */
const MAX_ID = 1364;
const MAX_PART = 8192;
const MAX_TRANSPORTS = 20;

const EXAMPLE_CREDENTIAL_ID = 'QzN2k1sYd0uTqJ8mX4vW7g';
const EXAMPLE_CLIENT_DATA =
  'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiVG01MmNHTjViVnAwZWciLCJvcmlnaW4iOiJodHRwczovL25vdGVzLmV4YW1wbGUuY29tIn0';
const EXAMPLE_CHALLENGE = 'Tm52cGN5bVp0eg1sR2tqU3hEd0JqYXZ2b1FkZ2Z5Y0E';

/**
 * `PublicKeyCredential.toJSON()` of a browser. What else it has is not read.
 * @param parts of `response` that must be there, as base64url
 */
function IsCredential(parts: readonly string[], example: object): PropertyDecorator {
  return applyDecorators(
    IsValid('isCredential', (value) => credentialProblem(value, parts)),
    ApiProperty({
      type: 'object',
      required: ['id', 'rawId', 'type', 'response'],
      properties: {
        id: { type: 'string', maxLength: MAX_ID },
        rawId: { type: 'string', maxLength: MAX_ID },
        type: { type: 'string', enum: ['public-key'] },
        response: {
          type: 'object',
          required: [...parts],
          properties: Object.fromEntries(parts.map((part) => [part, { type: 'string', maxLength: MAX_PART }])),
          additionalProperties: true,
        },
      },
      additionalProperties: true,
      example,
    }),
  );
}

function credentialProblem(value: unknown, parts: readonly string[]): string | null {
  if (!isObject(value)) return 'must be an object, as PublicKeyCredential.toJSON() returns it';
  const { id, rawId, type, response } = value;
  if (!isBase64Url(id, MAX_ID) || rawId !== id)
    return `must have the same id and rawId, as base64url of at most ${MAX_ID} characters`;
  if (type !== 'public-key') return 'must have the type public-key';
  if (!isObject(response)) return 'must have a response, which is an object';
  const missing = parts.find((part) => !isBase64Url(response[part], MAX_PART));
  if (missing !== undefined) return `must have response.${missing}, as base64url of at most ${MAX_PART} characters`;
  const { userHandle, transports } = response;
  if (userHandle !== undefined && userHandle !== null && !isBase64Url(userHandle, MAX_ID))
    return 'must have no response.userHandle, or one as base64url';
  if (transports !== undefined && !isTexts(transports)) return 'must have no response.transports, or a list of texts';
  return null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isBase64Url = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value.length <= length && BASE64URL.test(value);

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.length <= MAX_TRANSPORTS && value.every((item) => typeof item === 'string');

export class PasskeyOptionsDto {
  /** The password of the person. A session that began over 10 minutes ago takes it. */
  @IsOmittable()
  @IsText(1, MAX_PASSWORD)
  current_password?: string;
}

export class CreatePasskeyDto {
  /**
   * What the person calls it.
   * @example Laptop
   */
  @IsText(1, 100)
  name: string;

  /** What `navigator.credentials.create()` has made with the options, as JSON. */
  @IsCredential(['clientDataJSON', 'attestationObject'], {
    id: EXAMPLE_CREDENTIAL_ID,
    rawId: EXAMPLE_CREDENTIAL_ID,
    type: 'public-key',
    response: { clientDataJSON: EXAMPLE_CLIENT_DATA, attestationObject: 'o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YViU' },
  })
  credential: RegistrationResponseJSON;
}

export class UpdatePasskeyDto {
  /**
   * What the person calls it.
   * @example Laptop
   */
  @IsText(1, 100)
  name: string;
}

export class PasskeySignInDto {
  /** What `navigator.credentials.get()` has signed with the options, as JSON. */
  @IsCredential(['clientDataJSON', 'authenticatorData', 'signature'], {
    id: EXAMPLE_CREDENTIAL_ID,
    rawId: EXAMPLE_CREDENTIAL_ID,
    type: 'public-key',
    response: {
      clientDataJSON: EXAMPLE_CLIENT_DATA,
      authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ',
      signature: 'MEUCIQDTGOk2Wn8cPq1mGm5Xz0sWv3Yb9wIgZrQd',
    },
  })
  credential: AuthenticationResponseJSON;
}

export class PasskeyView {
  @ApiProperty({ example: '019aa5c8-2b3c-7d4e-8f5a-6b7c8d9eafb0', format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'Laptop' })
  name: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  /** When the person last signed in with it. */
  @ApiProperty({ type: String, nullable: true, example: null })
  last_used_at: string | null;
}

export class PasskeyPage extends PageFields {
  passkeys: PasskeyView[];
}

export class PasskeyRegistrationView {
  /** For `PublicKeyCredential.parseCreationOptionsFromJSON()`. Good for one passkey within 5 minutes. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: {
      challenge: EXAMPLE_CHALLENGE,
      rp: { id: 'notes.example.com', name: RELYING_PARTY_NAME },
      user: { id: 'AZqlxwobfC2OP0pbbH2Onw', name: 'ada@example.com', displayName: 'Ada Byron' },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      timeout: CHALLENGE_MS,
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
    },
  })
  public_key: object;
}

export class PasskeySignInOptionsView {
  /** For `PublicKeyCredential.parseRequestOptionsFromJSON()`. Good for one sign-in within 5 minutes. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: {
      challenge: EXAMPLE_CHALLENGE,
      rpId: 'notes.example.com',
      timeout: CHALLENGE_MS,
      userVerification: 'required',
    },
  })
  public_key: object;
}

/** The names are those of WebAuthn Level 3. */
export function presentRegistration(
  { challenge, session: { person }, passkeys }: RegistrationChallenge,
  { id }: RelyingParty,
): PasskeyRegistrationView {
  return {
    public_key: {
      challenge,
      rp: { id, name: RELYING_PARTY_NAME },
      user: { id: userHandleOf(person.id), name: person.email || person.name, displayName: person.name },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      timeout: CHALLENGE_MS,
      excludeCredentials: passkeys.map(({ credentialId, transports }) => ({
        type: 'public-key',
        id: credentialId,
        transports,
      })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
    },
  };
}

/** It names no credentials: the authenticator knows for whom it has some. */
export const presentSignInOptions = (challenge: string, { id }: RelyingParty): PasskeySignInOptionsView => ({
  public_key: { challenge, rpId: id, timeout: CHALLENGE_MS, userVerification: 'required' },
});

export const presentPasskey = ({ id, name, createdAt, lastUsedAt }: Passkey): PasskeyView => ({
  id,
  name,
  created_at: resourceTime(createdAt),
  last_used_at: lastUsedAt && resourceTime(lastUsedAt),
});

export const presentPasskeyPage = (query: PageQuery, found: PageResult<Passkey>): PasskeyPage => ({
  passkeys: found.items.map(presentPasskey),
  ...pageFields('/v1/session/passkeys', query, found),
});
