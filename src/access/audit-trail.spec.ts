import type { SqlRunner } from '../platform/database/database.service.js';
import { actAsOperator } from './acting.js';
import { auditTarget, differences, recordChanges, shownUrl } from './audit-trail.js';

describe('what an entry of the audit log shows', () => {
  it('is what differs, and of what is hidden that it does', () => {
    const before = { name: 'a', secret: 'x', at: new Date(0), list: [1] };
    const after = { name: 'b', secret: 'y', at: new Date(0), list: [1] };
    expect(differences(before, after, ['secret'])).toEqual({
      before: { name: 'a', secret: 'changed' },
      after: { name: 'b', secret: 'changed' },
    });
  });

  it('takes what is missing for null, and only what was set for changed', () => {
    expect(differences<object>({ kept: 1 }, { gone: null, set: 1 })).toEqual({ before: {}, after: { set: 1 } });
  });

  it('is the origin of a URL', () => {
    expect([shownUrl('https://u:p@hooks.example.com:8443/secret?token=x'), shownUrl(null)]).toEqual([
      'https://hooks.example.com:8443',
      null,
    ]);
  });

  it('is written by one statement, as the operator or by nobody, and not at all without a change', async () => {
    const written: Record<string, unknown>[][] = [];
    const prepared = async (_: string, [rows]: unknown[]) => {
      written.push(JSON.parse(rows as string) as Record<string, unknown>[]);
      return [];
    };
    const runner = { prepared } as unknown as SqlRunner;
    const change = { accountId: 'a', action: 'recording.deleted', targets: [auditTarget('recording', 'r')] };
    await recordChanges(runner);
    await recordChanges(runner, change, { ...change, targets: [] });
    await actAsOperator(() => recordChanges(runner, change));
    expect(written.map((rows) => rows.map((row) => [row.actor_kind, row.target_id, row.personal_hash]))).toEqual([
      [
        ['system', 'r', null],
        ['system', null, null],
      ],
      [['operator', 'r', null]],
    ]);
  });
});
