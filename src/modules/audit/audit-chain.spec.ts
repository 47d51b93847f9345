import { personalHash } from '../../access/audit-trail.js';
import { type ChainEnd, follow, hashOf } from './audit-chain.js';
import type { AuditEntry } from './audit-entry.entity.js';

const START: ChainEnd = { number: 0, hash: '' };

function entry(number: number, previousHash: string, fields: Partial<AuditEntry> = {}): AuditEntry {
  const personal = { userId: 'ada', address: '203.0.113.7', userAgent: 'vnotes' };
  const made = {
    id: `entry-${number}`,
    accountId: 'a',
    at: new Date('2026-11-28T10:00:00.123Z'),
    action: 'webhook.updated',
    outcome: 'success',
    actorKind: 'access_token',
    keyId: 'k',
    personId: null,
    tokenId: 't',
    ...personal,
    salt: 's',
    personalHash: personalHash('s', personal),
    requestId: 'r',
    targetId: 'w',
    targets: [{ type: 'webhook', id: 'w' }],
    before: { url: 'https://a.example', status: 'active' },
    after: null,
    ...fields,
  } as AuditEntry;
  return { ...made, number: `${number}`, previousHash, hash: hashOf(made, number, previousHash) };
}

describe('the chain of the audit log (D98)', () => {
  const first = entry(1, '');
  const second = entry(2, first.hash as string);

  it('is followed from entry to entry', () => {
    const end = follow(START, first);
    expect(end).toEqual({ number: 1, hash: first.hash });
    expect(follow(end as ChainEnd, second)).toEqual({ number: 2, hash: second.hash });
  });

  it('does not depend on the order of keys, which jsonb does not keep', () => {
    const stored = { ...first, before: { status: 'active', url: 'https://a.example' } };
    expect(follow(START, stored)).toEqual({ number: 1, hash: first.hash });
  });

  it.each<[string, Partial<AuditEntry>]>([
    ['account', { accountId: 'b' }],
    ['time', { at: new Date('2026-11-28T10:00:00.124Z') }],
    ['action', { action: 'webhook.deleted' }],
    ['outcome', { outcome: 'failure' }],
    ['kind of actor', { actorKind: 'operator' }],
    ['key', { keyId: null }],
    ['person', { personId: 'p' }],
    ['token', { tokenId: null }],
    ['end user', { userId: 'eve' }],
    ['address', { address: null }],
    ['user agent', { userAgent: 'curl' }],
    ['salt', { salt: null }],
    ['hash of personal data', { personalHash: null }],
    ['request', { requestId: 'q' }],
    ['filter', { targetId: null }],
    ['targets', { targets: [] }],
    ['values before', { before: { status: 'active' } }],
    ['values after', { after: {} }],
    ['hash', { hash: 'x' }],
    ['previous hash', { previousHash: 'x' }],
  ])('finds another %s', (_, fields) => {
    expect(follow(START, { ...first, ...fields })).toEqual({ number: 1, id: 'entry-1', problem: 'changed' });
  });

  it('finds a gap, also at its beginning', () => {
    expect(follow(START, second)).toEqual({ number: 1, id: null, problem: 'missing' });
    expect(follow({ number: 1, hash: 'of another' }, second)).toMatchObject({ problem: 'changed' });
  });

  it('holds when personal data are erased as a whole', () => {
    const erased = { ...first, userId: null, address: null, userAgent: null, salt: null };
    expect(follow(START, erased)).toEqual({ number: 1, hash: first.hash });
  });
});
