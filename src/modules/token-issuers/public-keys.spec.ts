import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { knownMembers, publicKeysProblem } from './public-keys.js';

const jwkOf = (key: { export(options: { format: 'jwk' }): JsonWebKey }): JsonWebKey => key.export({ format: 'jwk' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const ed = generateKeyPairSync('ed25519');
const agreement = generateKeyPairSync('x25519');

it('public keys of the algorithms are taken, with members beside them', () => {
  const all = [rsa, ec, ed].map(({ publicKey }, index) => ({
    ...jwkOf(publicKey),
    kid: `${index}`,
    x5c: ['certificate'],
  }));
  expect(publicKeysProblem(all)).toBeNull();
  expect(knownMembers(all[1] as object)).toEqual({ ...jwkOf(ec.publicKey), kid: '1' });
});

it.each<[string, unknown, string]>([
  ['no list', { keys: [] }, 'must be a list of 1 to 20'],
  ['none', [], 'must be a list of 1 to 20'],
  ['21', Array.from({ length: 21 }, () => jwkOf(ed.publicKey)), 'must be a list of 1 to 20'],
  ['text', ['key'], 'must be public keys'],
  ['null', [null], 'must be public keys'],
  ['an empty object', [{}], 'must be public keys'],
  ['a private key', [jwkOf(rsa.privateKey)], 'no private or secret key'],
  ['a secret', [{ kty: 'oct', k: 'c2VjcmV0' }], 'no private or secret key'],
  ['RSA of 1024 bits', [jwkOf(short.publicKey)], 'RSA of 2048 bits'],
  ['another curve', [jwkOf(otherCurve.publicKey)], 'EC P-256'],
  ['a key for agreements', [jwkOf(agreement.publicKey)], 'Ed25519'],
  [
    'a bad one behind a good one',
    [jwkOf(ed.publicKey), { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }],
    'must be public',
  ],
  ['a member that is no text', [{ ...jwkOf(ed.publicKey), kid: 7 }], 'must be public keys'],
  ['a huge member', [{ ...jwkOf(ed.publicKey), kid: 'x'.repeat(2049) }], 'must be public keys'],
])('%s is refused', (_, value, problem) => expect(publicKeysProblem(value)).toContain(problem));
