import type * as server from '@simplewebauthn/server';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Request } from 'express';

/** ES256, EdDSA and RS256 of COSE. */
export const ALGORITHMS = [-7, -8, -257];
const TRANSPORTS = new Set<string>(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);
/** Browsers send these where no attestation was asked for. */
const ATTESTATION_FORMATS = new Set<string>(['none', 'packed']);

/** The address of this service, for which a passkey is. */
export interface RelyingParty {
  /** A host name, without a port. */
  id: string;
  /** Origins of its pages. */
  origins: string[];
}

/** An answer of an authenticator that is not right. The message, for the log, says why. */
export class PasskeyRefusedError extends Error {
  override readonly name = 'PasskeyRefusedError';
}

/** What a passkey's signatures are verified with. */
export interface Credential {
  credentialId: string;
  publicKey: string;
  counter: number;
  transports: string[];
}

/**
 * As the browser sees this service. Authenticators sign for pages with TLS, and without it for those of this machine: no
 * proxy has to say which it is.
 */
export function relyingPartyOf({ host, hostname }: Request): RelyingParty {
  const isThisMachine = hostname === 'localhost' || hostname.endsWith('.localhost');
  return { id: hostname, origins: [`https://${host}`, ...(isThisMachine ? [`http://${host}`] : [])] };
}

/** @throws PasskeyRefusedError */
export async function verifyRegistration(
  response: RegistrationResponseJSON,
  challenge: string,
  { id, origins }: RelyingParty,
): Promise<Credential> {
  const library = await load();
  return await refusing(async () => {
    await refuseCertificates(response.response.attestationObject);
    const { verified, registrationInfo } = await library.verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) throw new PasskeyRefusedError('the attestation is not right');
    const { credential } = registrationInfo;
    if (credential.id !== response.id) throw new PasskeyRefusedError('the credential has two ids');
    return {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: [...new Set(response.response.transports)].filter((name) => TRANSPORTS.has(name)),
    };
  });
}

/** @returns the counter by now @throws PasskeyRefusedError */
export async function verifyAssertion(
  response: AuthenticationResponseJSON,
  challenge: string,
  { id, origins }: RelyingParty,
  { credentialId, publicKey, counter }: Omit<Credential, 'transports'>,
): Promise<number> {
  const library = await load();
  return await refusing(async () => {
    const { verified, authenticationInfo } = await library.verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: credentialId,
        publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')),
        counter,
      },
    });
    if (!verified) throw new PasskeyRefusedError('the signature is not right');
    return authenticationInfo.newCounter;
  });
}

/** Loaded with the first passkey. */
const load = (): Promise<typeof server> => import('@simplewebauthn/server');

/** The library would fetch the lists of revoked certificates whose addresses stand in them. */
async function refuseCertificates(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  if (ATTESTATION_FORMATS.has(decoded.get('fmt')) && decoded.get('attStmt').get('x5c') === undefined) return;
  throw new PasskeyRefusedError('an attestation that was not asked for');
}

/** Errors of the library have no kind of their own. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PasskeyRefusedError) throw error;
    throw new PasskeyRefusedError((error as Error).message, { cause: error });
  }
}
