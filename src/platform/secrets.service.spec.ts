import fc from 'fast-check';
import { readEnv } from './config/env.js';
import { SecretsService } from './secrets.service.js';

const UNUSED = { NODE_ENV: 'test', DATABASE_URL: 'postgres://unused', REDIS_URL: 'redis://unused' };
const secretsUnder = (key: string, previous?: string): SecretsService =>
  new SecretsService(readEnv({ ...UNUSED, SECRET_KEY: key, SECRET_KEY_PREVIOUS: previous }));

const OUR_KEY = 'a secret key of at least 32 characters';
const THEIR_KEY = 'another secret key of at least 32 characters';
const ours = secretsUnder(OUR_KEY);
const theirs = secretsUnder(THEIR_KEY);

const text = fc.string({ unit: 'binary', maxLength: 300 });

describe('Secrets: hashes (D9)', () => {
  it('knows a secret again by its hash, and no other', () => {
    fc.assert(
      fc.property(text, text, (secret, other) => {
        expect(ours.matches(secret, ours.hash(secret))).toBe(true);
        expect(ours.matches(other, ours.hash(secret))).toBe(other === secret);
      }),
    );
  });

  it('gives the same hash after a restart, and another under another SECRET_KEY', () => {
    const again = secretsUnder(OUR_KEY);
    expect(again.hash('vns_1')).toBe(ours.hash('vns_1'));
    expect(theirs.hash('vns_1').split('.')[1]).not.toBe(ours.hash('vns_1').split('.')[1]);
    expect(theirs.matches('vns_1', ours.hash('vns_1'))).toBe(false);
  });

  it('names its key and shows nothing of the secret', () => {
    const hash = ours.hash('vns_1');
    expect(hash).toMatch(/^[0-9a-f]{8}\.[\w-]{43}$/);
    expect(hash.startsWith(`${ours.keyId}.`)).toBe(true);
    expect(theirs.keyId).not.toBe(ours.keyId);
  });

  it.each(['', '.', 'x', 'abcdef12', 'abcdef12.', 'abcdef12.AAAA', `abcdef12.${'A'.repeat(100)}`])(
    'takes the damaged hash %j for no match instead of failing',
    (hash) => {
      expect(ours.matches('vns_1', hash)).toBe(false);
      expect(ours.matches('', hash)).toBe(false);
    },
  );
});

describe('Secrets: encryption (D29)', () => {
  it('gives back whatever was encrypted, for the same row', () => {
    fc.assert(
      fc.property(text, fc.uuid(), (secret, id) => {
        const plain = secret.toWellFormed();
        expect(ours.decrypt(ours.encrypt(plain, id), id)).toBe(plain);
      }),
    );
  });

  it('never encrypts twice to the same text', () => {
    const made = Array.from({ length: 200 }, () => ours.encrypt('whsec_1', 'row'));
    expect(new Set(made).size).toBe(200);
  });

  it('refuses a text that was moved to another row', () => {
    const sealed = ours.encrypt('whsec_1', 'row');
    expect(() => ours.decrypt(sealed, 'another row')).toThrow();
  });

  it('refuses a text with any one character changed', () => {
    const sealed = ours.encrypt('whsec_1', 'row');
    for (let i = 0; i < sealed.length; i++) {
      const other = sealed[i] === 'A' ? 'B' : 'A';
      const changed = sealed.slice(0, i) + other + sealed.slice(i + 1);
      // The last character of a base64url part may hold bits that mean nothing.
      if (sameBytes(changed, sealed)) continue;
      expect(() => ours.decrypt(changed, 'row')).toThrow();
    }
  });

  it.each(['', 'x', 'a.b.c.d', '....'])('refuses %j', (damaged) => {
    expect(() => ours.decrypt(damaged, 'row')).toThrow();
  });

  it('throws when a text was encrypted under another SECRET_KEY', () => {
    expect(() => theirs.decrypt(ours.encrypt('whsec_1', 'row'), 'row')).toThrow('encrypted under another SECRET_KEY');
  });
});

describe('Secrets: keys', () => {
  it('derives a separate key for tokens', () => {
    expect(ours.tokenKey).toHaveLength(32);
    expect(ours.tokenKey.equals(theirs.tokenKey)).toBe(false);
    expect(ours.tokenKey.toString('base64url')).not.toBe(ours.hash('').split('.')[1]);
  });
});

describe('Secrets: rotation', () => {
  const rotated = secretsUnder('a third secret key of at least 32 characters', OUR_KEY);

  it('reads what was made under SECRET_KEY_PREVIOUS', () => {
    fc.assert(
      fc.property(text, text, fc.uuid(), (secret, other, id) => {
        const plain = secret.toWellFormed();
        expect(rotated.matches(secret, ours.hash(secret))).toBe(true);
        expect(rotated.matches(other, ours.hash(secret))).toBe(other === secret);
        expect(rotated.decrypt(ours.encrypt(plain, id), id)).toBe(plain);
      }),
    );
    expect(() => rotated.decrypt(ours.encrypt('whsec_1', 'row'), 'another row')).toThrow();
  });

  it('makes everything under SECRET_KEY', () => {
    const id = `${rotated.keyId}.`;
    expect([rotated.hash('vns_1'), rotated.encrypt('whsec_1', 'row')].every((made) => made.startsWith(id))).toBe(true);
    expect(rotated.keyId).not.toBe(ours.keyId);
    expect(ours.matches('vns_1', rotated.hash('vns_1'))).toBe(false);
  });

  it('identifies the key of a hash or ciphertext', () => {
    const sealed = (secrets: SecretsService) => [secrets.hash('vns_1'), secrets.encrypt('whsec_1', 'row')];
    const told = (texts: string[]) => texts.map((made) => rotated.madeUnder(made));
    expect(told(sealed(rotated))).toEqual(['current', 'current']);
    expect(told(sealed(ours))).toEqual(['previous', 'previous']);
    expect(told([...sealed(theirs), '', '.', 'x'])).toEqual([null, null, null, null, null]);
    expect(ours.madeUnder('')).toBeNull();
    expect([rotated.hasPrevious, ours.hasPrevious]).toEqual([true, false]);
  });

  it('takes no hash of one key for that of the other: its id decides', () => {
    const [, mac] = ours.hash('vns_1').split('.');
    expect(rotated.matches('vns_1', `${rotated.keyId}.${mac}`)).toBe(false);
  });

  it('finds the key of a token by its key id, and uses the current key if the id is unknown', () => {
    expect(rotated.tokenKeyOf(ours.keyId).equals(ours.tokenKey)).toBe(true);
    for (const keyId of [rotated.keyId, theirs.keyId, undefined, '']) {
      expect(rotated.tokenKeyOf(keyId).equals(rotated.tokenKey)).toBe(true);
    }
  });

  it('reads either way round, so that a fleet can learn the new key before anybody uses it', () => {
    const [before, after] = [secretsUnder(OUR_KEY, THEIR_KEY), secretsUnder(THEIR_KEY, OUR_KEY)];
    expect(before.matches('vns_1', after.hash('vns_1'))).toBe(true);
    expect(after.matches('vns_1', before.hash('vns_1'))).toBe(true);
    expect(before.decrypt(after.encrypt('whsec_1', 'row'), 'row')).toBe('whsec_1');
  });
});

function sameBytes(a: string, b: string): boolean {
  const bytes = (sealed: string) => sealed.split('.').map((part, i) => (i === 0 ? part : decoded(part)));
  return JSON.stringify(bytes(a)) === JSON.stringify(bytes(b));
}

const decoded = (part: string): string => Buffer.from(part, 'base64url').toString('hex');
