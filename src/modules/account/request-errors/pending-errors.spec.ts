import { PendingErrors, type Refusal } from './pending-errors.js';

const refusal = (changes: Partial<Refusal> = {}): Refusal => ({
  accountId: 'a',
  operation: 'GET /v1/recordings',
  status: 400,
  code: '2001',
  type: 'ValidationError',
  field: 'limit',
  message: 'limit must be an integer.',
  requestId: 'r',
  at: new Date('2026-03-14T09:26:53Z'),
  ...changes,
});
const at = (time: string): Date => new Date(`2026-03-14T${time}Z`);

describe('errors that are not written yet', () => {
  let pending: PendingErrors;

  beforeEach(() => {
    pending = new PendingErrors(3);
  });

  it('are one group for each account, day, operation, status, code and field', () => {
    const others: Partial<Refusal>[] = [
      { accountId: 'b' },
      { accountId: 'c', operation: 'GET /v1/webhooks' },
      { accountId: 'd', status: 404 },
      { accountId: 'e', code: '3001' },
      { accountId: 'f', field: null },
      { at: new Date('2026-03-15T00:00:00Z') },
    ];
    for (const change of [{}, {}, ...others]) expect(pending.add(refusal(change))).toBe(true);
    const groups = pending.take();
    expect(groups.map(({ count }) => count)).toEqual([2, 1, 1, 1, 1, 1, 1]);
    expect(groups.map(({ day }) => day)).toEqual([...Array.from({ length: 6 }, () => '2026-03-14'), '2026-03-15']);
    expect(groups.map(({ field }) => field)).toEqual(['limit', 'limit', 'limit', 'limit', 'limit', '', 'limit']);
    expect(pending.take()).toEqual([]);
  });

  it('have the last message, the first and the last time, and the last five request ids', () => {
    for (let i = 1; i <= 7; i++) pending.add(refusal({ at: at(`10:00:0${i}`), requestId: `r${i}`, message: `m${i}` }));
    expect(pending.take()).toEqual([
      expect.objectContaining({
        count: 7,
        message: 'm7',
        firstAt: at('10:00:01'),
        lastAt: at('10:00:07'),
        requestIds: ['r7', 'r6', 'r5', 'r4', 'r3'],
      }),
    ]);
  });

  it('are bounded for each account, and put back what could not be written', () => {
    const fields = ['a', 'b', 'c', 'd'];
    expect(fields.map((field) => pending.add(refusal({ field })))).toEqual([true, true, true, false]);
    expect(pending.add(refusal({ accountId: 'b' }))).toBe(true);
    const taken = pending.take();
    pending.add(refusal({ field: 'a', at: at('11:00:00'), requestId: 'later' }));
    pending.add(refusal({ field: 'x' }));
    // One of the three has no room beside the new one.
    expect(pending.restore(taken)).toBe(1);
    expect(pending.take()).toEqual([
      expect.objectContaining({ field: 'a', count: 2, lastAt: at('11:00:00'), requestIds: ['later', 'r'] }),
      expect.objectContaining({ field: 'x', count: 1 }),
      expect.objectContaining({ field: 'b', count: 1 }),
      expect.objectContaining({ accountId: 'b' }),
    ]);
  });

  it.each([
    ['a NUL', 'a\0b', 'a�b'],
    ['another control character', 'a\x1b[2Jb\u0085', 'a�[2Jb�'],
    ['half of a character', 'x\ud800', 'x�'],
    ['a half that is left where it is cut', `${'x'.repeat(99)}🎙`, `${'x'.repeat(99)}�`],
    ['a secret', 'my vns_0123 and more', 'my vns_…'],
    ['a secret of several lines', 'whsec_01\n23', 'whsec_…'],
    ['a token', 'eyJhbGciOi.x', 'eyJ…'],
    ['101 characters', 'x'.repeat(101), 'x'.repeat(100)],
  ])('have no field with %s', (_, field, cleaned) => {
    pending.add(refusal({ field }));
    expect(pending.take()[0]?.field).toBe(cleaned);
  });

  it('are 10,000 at most of all accounts together', () => {
    for (let i = 0; i < 10_000; i++) expect(pending.add(refusal({ accountId: `${i}` }))).toBe(true);
    expect(pending.add(refusal({ accountId: 'another' }))).toBe(false);
    expect(pending.add(refusal({ accountId: '0' }))).toBe(true);
    expect(pending.size).toBe(10_000);
  });

  it('have no message with a secret, or of more than 500 characters', () => {
    pending.add(refusal({ message: 'x'.repeat(501) }));
    expect(pending.take()[0]?.message).toBe('x'.repeat(500));
    pending.add(refusal({ message: '"vns_0123" is not a scope.' }));
    expect(pending.take()[0]?.message).toBe('"vns_…');
  });
});
