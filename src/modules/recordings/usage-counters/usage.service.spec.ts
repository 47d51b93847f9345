import type { DatabaseService } from '../../../platform/database/database.service.js';
import { type UsageReportOptions, UsageService } from './usage.service.js';

const NOW = new Date('2026-03-01T00:00:00Z');
const figures = (value: string, recordings = 1, bytes = 1) => ({ value, recordings, bytes });

describe('UsageService', () => {
  let rows: object[];
  let asked: unknown[][];
  let service: UsageService;

  beforeEach(() => {
    [rows, asked] = [[], []];
    const send = async (_: string, given: unknown[]): Promise<object[]> => {
      asked.push(given);
      return rows;
    };
    service = new UsageService({ query: send, prepared: send } as unknown as DatabaseService);
  });

  const report = (question: Partial<UsageReportOptions>) =>
    service.report('a', { days: 1, by: 'user', limit: 2, after: null, ...question }, NOW);

  it('of months is that of the present one and the one before, in the order of the accounts, 0 where there is none', async () => {
    const [a, b] = [
      { recordings: 1, durationMs: 2, bytes: 3 },
      { recordings: 4, durationMs: 5, bytes: 6 },
    ];
    rows = [
      { accountId: 'b', isLater: false, ...b },
      { accountId: 'a', isLater: true, ...a },
    ];
    const none = { recordings: 0, durationMs: 0, bytes: 0 };
    expect(await service.ofMonths(['a', 'b', 'c'], NOW)).toEqual([
      [a, none],
      [none, b],
      [none, none],
    ]);
    expect(asked[0]).toEqual(expect.arrayContaining(['2026-02-01', '2026-03-01', '2026-04-01']));
  });

  it.each([
    [1, '2026-03-01'],
    [2, '2026-02-28'],
    [61, '2025-12-31'],
  ])('of %d days begins with %s and ends today', async (days, from) => {
    expect(await report({ days, by: 'day' })).toMatchObject({ from, to: '2026-03-01', next: null });
    expect(asked[0]).toEqual(expect.arrayContaining(['a', from, '2026-03-01']));
  });

  it('of keys or users asks for one more than a page has, and says what the next page comes after', async () => {
    rows = [figures('a'), figures('b'), figures('c')];
    const { items, next } = await report({ after: 'x' });
    expect([items.map(({ value }) => value), next]).toEqual([['a', 'b'], 'b']);
    expect(asked[0]).toEqual(expect.arrayContaining([3, 'x']));
    rows = [figures('a'), figures('b')];
    expect((await report({})).next).toBeNull();
  });

  it('leaves out who has used nothing, and goes on behind them', async () => {
    rows = [figures('a', 0, 5), figures('b', 0, 0), figures('c')];
    const { items, next } = await report({});
    expect([items.map(({ value }) => value), next]).toEqual([['a'], 'b']);
  });
});
