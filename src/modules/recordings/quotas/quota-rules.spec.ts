import type { Quotas } from '../../../access/plans.js';
import {
  countsUsage,
  monthEnd,
  monthStart,
  type QuotaDemand,
  type QuotaUsage,
  refusalOf,
  withDemand,
} from './quota-rules.js';

const QUOTAS: Quotas = { storedBytes: 1000, audioSecondsPerMonth: 60, queuedAudioSeconds: 10, concurrentUploads: 3 };
const UNLIMITED: Quotas = {
  storedBytes: null,
  audioSecondsPerMonth: null,
  queuedAudioSeconds: null,
  concurrentUploads: null,
};
const UNUSED: QuotaUsage = { storedBytes: 0, monthMs: 0, queuedMs: 0 };
const NOTHING: QuotaDemand = { bytes: 0, monthMs: 0, queuedMs: 0 };
const NOW = new Date('2026-12-31T23:59:59.999Z');

describe('refusalOf (D32)', () => {
  it.each<[string, Partial<QuotaUsage>, Partial<QuotaDemand>]>([
    ['an unused account', {}, {}],
    ['the last byte', { storedBytes: 900 }, { bytes: 100 }],
    ['the last second of the month', { monthMs: 59_000 }, { monthMs: 1000 }],
    ['the last second of the queue', { queuedMs: 9000 }, { queuedMs: 1000 }],
  ])('lets in %s', (_, usage, demand) => {
    expect(refusalOf(QUOTAS, { ...UNUSED, ...usage }, { ...NOTHING, ...demand }, NOW)).toBeNull();
  });

  it.each<[string, Partial<QuotaUsage>, Partial<QuotaDemand>, object]>([
    ['a byte too many', { storedBytes: 900 }, { bytes: 101 }, { quota: 'stored_bytes', limit: 1000, used: 900 }],
    ['anything when full', { storedBytes: 1000 }, {}, { quota: 'stored_bytes', limit: 1000, used: 1000 }],
    [
      'a millisecond too many in the month',
      { monthMs: 59_500 },
      { monthMs: 501 },
      { quota: 'audio_seconds_per_month', limit: 60, used: 59.5, resets_at: '2027-01-01T00:00:00' },
    ],
    [
      'the month before the queue, and the bytes before both',
      { storedBytes: 1000, monthMs: 60_000, queuedMs: 10_000 },
      {},
      { quota: 'stored_bytes', limit: 1000, used: 1000 },
    ],
    [
      'the month before the queue',
      { monthMs: 60_000, queuedMs: 10_000 },
      {},
      { quota: 'audio_seconds_per_month', limit: 60, used: 60, resets_at: '2027-01-01T00:00:00' },
    ],
    ['anything in a full queue', { queuedMs: 10_500 }, {}, { quota: 'queued_audio_seconds', limit: 10, used: 10.5 }],
    ['one too many in the queue', {}, { queuedMs: 10_001 }, { quota: 'queued_audio_seconds', limit: 10, used: 0 }],
  ])('refuses %s', (_, usage, demand, details) => {
    const refusal = refusalOf(QUOTAS, { ...UNUSED, ...usage }, { ...NOTHING, ...demand }, NOW);
    expect(refusal?.details).toEqual({ resets_at: null, ...details });
  });

  it('refuses nothing where nothing is limited', () => {
    const much = { storedBytes: 1e15, monthMs: 1e15, queuedMs: 1e15 };
    expect(refusalOf(UNLIMITED, much, { bytes: 1e9, monthMs: 1e9, queuedMs: 1e9 }, NOW)).toBeNull();
  });
});

describe('withDemand', () => {
  it('adds each part to its own', () => {
    const usage = { storedBytes: 1, monthMs: 20, queuedMs: 300 };
    const demand = { bytes: 4, monthMs: 50, queuedMs: 600 };
    expect(withDemand(usage, demand)).toEqual({ storedBytes: 5, monthMs: 70, queuedMs: 900 });
  });
});

describe('countsUsage', () => {
  it.each<[keyof Quotas, boolean]>([
    ['storedBytes', true],
    ['audioSecondsPerMonth', true],
    ['queuedAudioSeconds', true],
    ['concurrentUploads', false],
  ])('where %s alone is limited: %s', (quota, counts) => {
    expect(countsUsage({ ...UNLIMITED, [quota]: 0 })).toBe(counts);
  });
});

describe('months', () => {
  it('are calendar months in UTC', () => {
    const first = new Date('2026-02-01T00:00:00Z');
    expect([monthStart(first), monthEnd(first)]).toEqual(['2026-02-01', '2026-03-01T00:00:00']);
    expect([monthStart(NOW), monthEnd(NOW)]).toEqual(['2026-12-01', '2027-01-01T00:00:00']);
  });
});
