import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** What an answer says and what it should not, for tests of what is refused. */
export interface Deviations {
  /** Of the page. */
  origin?: string;
  /** Host name for which the authenticator signs. */
  rpId?: string;
  type?: string;
  challenge?: string;
  isUserVerified?: boolean;
  isUserPresent?: boolean;
  counter?: number;
  userHandle?: string;
  /** Bytes of the signature are changed. */
  hasOtherSignature?: boolean;
  /** Of the attestation, with what goes into it. */
  attestation?: { format: string; statement: Map<string, CborValue> };
  /** Of the credential. */
  id?: string;
}

interface CreationOptions {
  challenge: string;
  rp: { id: string };
  user: { id: string };
}

interface RequestOptions {
  challenge: string;
  rpId: string;
}

type CborValue = number | string | Buffer | CborValue[] | Map<number | string, CborValue>;

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/** An authenticator, with the browser in front of it, that has one discoverable credential (ES256 or RS256). */
export class SoftwareAuthenticator {
  readonly id: Buffer = randomBytes(32);
  private readonly privateKey: KeyObject;
  private readonly coseKey: Buffer;
  private counter = 0;
  private userHandle: string | undefined;

  /** @param origin of the pages @param counts whether it counts its signatures */
  constructor(
    private readonly origin: string,
    private readonly counts = true,
    algorithm: 'ES256' | 'RS256' = 'ES256',
  ) {
    const { privateKey, publicKey } =
      algorithm === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: 2048 });
    this.privateKey = privateKey;
    const jwk = publicKey.export({ format: 'jwk' });
    const part = (text = ''): Buffer => Buffer.from(text, 'base64url');
    const fields: [number, CborValue][] =
      algorithm === 'ES256'
        ? [
            [1, 2],
            [3, -7],
            [-1, 1],
            [-2, part(jwk.x)],
            [-3, part(jwk.y)],
          ]
        : [
            [1, 3],
            [3, -257],
            [-1, part(jwk.n)],
            [-2, part(jwk.e)],
          ];
    this.coseKey = encode(new Map(fields));
  }

  /** As `navigator.credentials.create()` and `toJSON()`. */
  create({ challenge, rp, user }: CreationOptions, deviations: Deviations = {}): object {
    this.userHandle = user.id;
    const id = deviations.id ?? this.id.toString('base64url');
    const attested = Buffer.concat([randomBytes(16), uint16(this.id.length), this.id, this.coseKey]);
    const authData = Buffer.concat([this.dataFor(rp.id, deviations, HAS_CREDENTIAL), attested]);
    const { format, statement } = deviations.attestation ?? { format: 'none', statement: new Map() };
    const object = new Map<string, CborValue>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', authData],
    ]);
    const clientData = this.clientData('webauthn.create', challenge, deviations);
    return credential(id, {
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: encode(object).toString('base64url'),
      transports: ['internal', 'hybrid'],
    });
  }

  /** As `navigator.credentials.get()` and `toJSON()`. */
  get({ challenge, rpId }: RequestOptions, deviations: Deviations = {}): object {
    if (this.counts) this.counter += 1;
    const authenticatorData = this.dataFor(rpId, deviations);
    const clientData = this.clientData('webauthn.get', challenge, deviations);
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]);
    const signature = sign('sha256', signed, this.privateKey);
    if (deviations.hasOtherSignature) signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
    return credential(deviations.id ?? this.id.toString('base64url'), {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: deviations.userHandle ?? this.userHandle,
    });
  }

  private dataFor(rpId: string, deviations: Deviations, flags = 0): Buffer {
    const { isUserPresent = true, isUserVerified = true } = deviations;
    const present = (isUserPresent ? USER_PRESENT : 0) | (isUserVerified ? USER_VERIFIED : 0);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(deviations.counter ?? this.counter);
    const hash = createHash('sha256')
      .update(deviations.rpId ?? rpId)
      .digest();
    return Buffer.concat([hash, Buffer.from([flags | present]), counter]);
  }

  private clientData(type: string, challenge: string, deviations: Deviations): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: deviations.type ?? type,
        challenge: deviations.challenge ?? challenge,
        origin: deviations.origin ?? this.origin,
        crossOrigin: false,
      }),
    );
  }
}

const credential = (id: string, response: object): object => ({
  id,
  rawId: id,
  type: 'public-key',
  response,
  authenticatorAttachment: 'platform',
  clientExtensionResults: {},
});

/** The part of CBOR (RFC 8949) that authenticators use. */
function encode(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encode)]);
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, item]) => [encode(key), encode(item)])]);
}

function head(kind: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(kind << 5) | length]);
  if (length < 256) return Buffer.from([(kind << 5) | 24, length]);
  return Buffer.concat([Buffer.from([(kind << 5) | 25]), uint16(length)]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
