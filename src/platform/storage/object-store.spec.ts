import * as fc from 'fast-check';
import { join, sep } from 'node:path';
import { assertObjectKey } from './object-store.js';

describe('assertObjectKey', () => {
  it.each([
    '0190b5c2-7c1e-7000-8000-000000000001/2026/11/0190b5c2-7c1e-7000-8000-000000000002.webm',
    'a/b.wav',
    'a.mp3',
  ])('accepts %s', (key) => {
    expect(() => assertObjectKey(key)).not.toThrow();
  });

  it.each([
    '',
    '/a.wav',
    '../a.wav',
    'a/../b.wav',
    'a//b.wav',
    'a/.wav',
    'a/b',
    'a/b.wav/',
    'a\\b.wav',
    'a/b.wav\n',
    'ä.wav',
  ])('rejects %j', (key) => {
    expect(() => assertObjectKey(key)).toThrow('Invalid object key');
  });

  it('accepts no key that leads out of the folder', () => {
    const parts = fc.array(fc.constantFrom('..', '.', '/', '\\', 'a', '0', '\0', '-', '.wav', '%2e'), { maxLength: 8 });
    fc.assert(
      fc.property(parts, (characters) => {
        const key = characters.join('');
        try {
          assertObjectKey(key);
        } catch {
          return true;
        }
        return join('/store', key) === `/store${sep}${key}`;
      }),
    );
  });
});
