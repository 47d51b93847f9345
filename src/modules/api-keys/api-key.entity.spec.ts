import { warningsOf } from './api-key.entity.js';

const NOW = new Date('2026-11-22T10:00:00Z');
const DAY = 86_400_000;
const inDays = (days: number): Date => new Date(NOW.getTime() + days * DAY);

const KEY = { accountId: 'a', revokedAt: null, expiresAt: null, lastUsedAt: null, createdAt: NOW };

describe('warnings of a key (D95)', () => {
  it.each<[string, Partial<Parameters<typeof warningsOf>[0]>, string[]]>([
    ['a new key', {}, []],
    ['one that expires in 15 days', { expiresAt: inDays(15) }, []],
    ['one that expires in 14 days', { expiresAt: inDays(14) }, ['expires_soon']],
    ['an expired one', { expiresAt: NOW, createdAt: inDays(-200) }, []],
    ['one used 89 days ago', { lastUsedAt: inDays(-89), createdAt: inDays(-200) }, []],
    ['one used 90 days ago', { lastUsedAt: inDays(-90), createdAt: inDays(-200) }, ['unused']],
    ['one never used, of 89 days', { createdAt: inDays(-89) }, []],
    ['one never used, of 90 days', { createdAt: inDays(-90) }, ['unused']],
    ['both', { createdAt: inDays(-90), expiresAt: inDays(1) }, ['expires_soon', 'unused']],
    ['a revoked one', { createdAt: inDays(-90), expiresAt: inDays(1), revokedAt: NOW }, []],
  ])('%s', (_, change, warnings) => {
    expect(warningsOf({ ...KEY, ...change }, NOW)).toEqual(warnings);
  });
});
