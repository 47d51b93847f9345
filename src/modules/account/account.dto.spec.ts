import type { UsageReport } from '../recordings/usage-counters/usage.service.js';
import { presentQuotas, presentUsageReport, reportOptionsOf, type UsageQuery } from './account.dto.js';

const ITEM = { value: '2026-11-21', recordings: 3, transcribed: 2, failed: 1, durationMs: 1500, bytes: 7 };
const REPORT: UsageReport = { from: '2026-11-20', to: '2026-11-21', items: [ITEM], next: null };
const query = (changes: Partial<UsageQuery> = {}): UsageQuery => ({ days: 2, by: 'day', ...changes });
const present = (asked: UsageQuery, report: Partial<UsageReport> = {}) =>
  presentUsageReport(asked, reportOptionsOf(asked), { ...REPORT, ...report });

describe('a usage report', () => {
  it('has 50 keys or end users on a page, from the first on, unless it is asked for others', () => {
    expect(reportOptionsOf(query({ by: 'key' }))).toEqual({ days: 2, by: 'key', limit: 50, after: null });
    const asked = query({ by: 'user', limit: 5, after: '' });
    expect(reportOptionsOf(asked)).toEqual({ days: 2, by: 'user', limit: 5, after: '' });
  });

  it.each([
    ['limit', { limit: 5 }],
    ['after', { after: '' }],
  ])('of days has no pages: %s is refused', (field, changes) => {
    expect(() => reportOptionsOf(query(changes))).toThrow(`${field} is only for by=key and by=user`);
  });

  it('shows each figure under its name', () => {
    expect(present(query())).toEqual({
      days: 2,
      by: 'day',
      from: '2026-11-20',
      to: '2026-11-21',
      items: [
        {
          day: '2026-11-21',
          recordings_count: 3,
          transcribed_count: 2,
          failed_count: 1,
          total_duration_seconds: 1.5,
          storage_used_bytes: 7,
        },
      ],
      uri: '/v1/account/usage?days=2&by=day',
      next_uri: null,
    });
  });

  it('names keys and end users, and null where there is none', () => {
    const items = [
      { ...ITEM, value: '' },
      { ...ITEM, value: 'x' },
    ];
    expect(present(query({ by: 'key' }), { items }).items).toMatchObject([{ key_id: null }, { key_id: 'x' }]);
    expect(present(query({ by: 'user' }), { items }).items).toMatchObject([{ user_id: null }, { user_id: 'x' }]);
  });

  it('leads to this page and to the next', () => {
    const { uri, next_uri } = present(query({ by: 'user', after: 'a b' }), { next: 'c&d' });
    expect(uri).toBe('/v1/account/usage?days=2&by=user&limit=50&after=a+b');
    expect(next_uri).toBe('/v1/account/usage?days=2&by=user&limit=50&after=c%26d');
    expect(present(query({ by: 'key' }), { next: '' }).next_uri).toMatch(/&after=$/);
  });
});

describe('the quotas of an account', () => {
  it('show limit and use in bytes and seconds, and when the month begins again', () => {
    jest.useFakeTimers({ now: new Date('2026-12-31T23:59:59Z') });
    const limits = { storedBytes: 1, audioSecondsPerMonth: null, queuedAudioSeconds: 3, concurrentUploads: 4 };
    const shown = presentQuotas(limits, { storedBytes: 10, monthMs: 2500, queuedMs: 3500, concurrentUploads: 40 });
    jest.useRealTimers();
    expect(shown).toEqual({
      quotas: [
        { quota: 'stored_bytes', limit: 1, used: 10, resets_at: null },
        { quota: 'audio_seconds_per_month', limit: null, used: 2.5, resets_at: '2027-01-01T00:00:00' },
        { quota: 'queued_audio_seconds', limit: 3, used: 3.5, resets_at: null },
        { quota: 'concurrent_uploads', limit: 4, used: 40, resets_at: null },
      ],
      uri: '/v1/account/quotas',
    });
  });
});
