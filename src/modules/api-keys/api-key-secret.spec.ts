import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { isWellFormed, makeKeyPair } from './api-key-secret.js';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('makeKeyPair (D9)', () => {
  it('makes a key of 24 and a secret of 43 base62 characters and a checksum of 6', () => {
    const { key, secret } = makeKeyPair();
    expect(key).toMatch(/^vnk_[0-9A-Za-z]{24}$/);
    expect(secret).toMatch(/^vns_[0-9A-Za-z]{49}$/);
  });

  it('ends the secret with the CRC-32 of its 43 characters, written in base62', () => {
    const { secret } = makeKeyPair();
    const body = secret.slice(4, 47);
    const digits = [...secret.slice(47)].map((digit) => BASE62.indexOf(digit));
    expect(digits.reduce((value, digit) => value * 62 + digit, 0)).toBe(crc32(body));
  });

  it('never makes the same half twice, and uses every character', () => {
    const pairs = Array.from({ length: 500 }, makeKeyPair);
    expect(new Set(pairs.map(({ key }) => key)).size).toBe(500);
    expect(new Set(pairs.map(({ secret }) => secret)).size).toBe(500);
    const used = new Set(pairs.flatMap(({ secret }) => [...secret.slice(4, 47)]));
    expect([...used].toSorted().join('')).toBe([...BASE62].toSorted().join(''));
  });
});

describe('isWellFormed (D9)', () => {
  it('knows what makeKeyPair makes', () => {
    for (let i = 0; i < 200; i++) expect(isWellFormed(makeKeyPair())).toBe(true);
  });

  it('detects a typo in the secret without a look-up: any one character changed', () => {
    const { key, secret } = makeKeyPair();
    for (let i = 4; i < secret.length; i++) {
      for (const other of [...BASE62].filter((character) => character !== secret[i])) {
        const typed = secret.slice(0, i) + other + secret.slice(i + 1);
        expect(isWellFormed({ key, secret: typed })).toBe(false);
      }
    }
  });

  it('detects two adjacent characters that were swapped', () => {
    const { key, secret } = makeKeyPair();
    for (let i = 4; i < secret.length - 1; i++) {
      const swapped = secret.slice(0, i) + secret[i + 1] + secret[i] + secret.slice(i + 2);
      expect(isWellFormed({ key, secret: swapped })).toBe(swapped === secret);
    }
  });

  it('refuses whatever else may come in the two headers', () => {
    const { key, secret } = makeKeyPair();
    fc.assert(fc.property(fc.string(), (noise) => expect(isWellFormed({ key: noise, secret })).toBe(false)));
    fc.assert(fc.property(fc.string(), (noise) => expect(isWellFormed({ key, secret: noise })).toBe(false)));
    for (const broken of [`${secret} `, ` ${secret}`, `${secret}\n`, secret.slice(0, -1), `${secret}0`, key]) {
      expect(isWellFormed({ key, secret: broken })).toBe(false);
    }
    for (const broken of [`${key}\n`, key.slice(0, -1), `${key}0`, key.toUpperCase(), secret]) {
      expect(isWellFormed({ key: broken, secret })).toBe(false);
    }
  });
});
