import type { Account } from './account.entity.js';
import { presentAccount } from './account.presenter.js';

describe('presentAccount', () => {
  it('shows each figure under its name, times without fractions, and durations in seconds', () => {
    const account = {
      id: 'a',
      name: 'Acme',
      email: 'ops@example.com',
      status: 'suspended',
      plan: 'pro',
      createdAt: new Date('2026-01-01T10:00:00.900Z'),
      updatedAt: new Date('2026-02-02T11:00:00.900Z'),
    } as Account;
    const [current, previous] = [
      { recordings: 1, durationMs: 2500, bytes: 3 },
      { recordings: 4, durationMs: 5500, bytes: 6 },
    ];
    expect(presentAccount(account, [current, previous])).toEqual({
      id: 'a',
      name: 'Acme',
      email: 'ops@example.com',
      status: 'suspended',
      plan: 'pro',
      created_at: '2026-01-01T10:00:00',
      updated_at: '2026-02-02T11:00:00',
      usage: {
        current_month: { recordings_count: 1, total_duration_seconds: 2.5, storage_used_bytes: 3 },
        previous_month: { recordings_count: 4, total_duration_seconds: 5.5, storage_used_bytes: 6 },
      },
      uri: '/v1/account',
    });
  });
});
