import type { DatabaseService } from '../../../platform/database/database.service.js';
import { RateLimitError } from '../../../platform/errors/errors.js';
import { ListRecordingsQuery } from '../recordings.dto.js';
import { RecordingSearchService } from './recording-search.service.js';
import type { SearchBackfillService } from './search-backfill.service.js';

const backfill = { isComplete: async () => true } as unknown as SearchBackfillService;
const queryOf = (filters: object): ListRecordingsQuery => Object.assign(new ListRecordingsQuery(), filters);

/** A service whose every search ends as `transact` does. */
const searchOf = (transact: () => Promise<unknown>): RecordingSearchService =>
  new RecordingSearchService({ transact } as unknown as DatabaseService, backfill);

describe('RecordingSearchService', () => {
  it('names the filter of a search that Postgres has ended for its time, and what to do', async () => {
    const search = searchOf(() => Promise.reject(Object.assign(new Error('canceled'), { code: '57014' })));
    const reason = 'matches more than can be looked through in 5 s: add a rarer word, a tag, or days.';
    await expect(search.search('a', queryOf({ q: '"to be"' }))).rejects.toThrow(`q ${reason}`);
    await expect(search.search('a', queryOf({ 'tag.kind': 'x' }))).rejects.toThrow(`tag.kind ${reason}`);
  });

  it('has other errors go their way', async () => {
    const search = searchOf(() => Promise.reject(new Error('connection lost')));
    await expect(search.search('a', queryOf({ q: 'a' }))).rejects.toThrow('connection lost');
  });

  it('asks Postgres nothing about recordings that cannot have a text', async () => {
    const search = searchOf(() => Promise.reject(new Error('asked')));
    const found = await search.search('a', queryOf({ q: 'a', status: 'failed' }));
    expect(found).toEqual({ items: [], total: 0, totalIsExact: true, hasMore: false });
  });

  it.each([
    [2, 0, false],
    [3, 0, true],
    [4, 1, false],
    [5, 1, true],
  ])('of %s matches, two a page, says on page %s whether another follows: %s', async (total, page, hasMore) => {
    const rows = ['one', 'two'].map((id) => ({ id, total, text: 'a b' }));
    const tx = { query: async () => rows };
    const transact = (work: (inside: typeof tx) => Promise<unknown>): Promise<unknown> => work(tx);
    const search = new RecordingSearchService({ transact } as unknown as DatabaseService, backfill);
    expect(await search.search('a', queryOf({ q: 'a', limit: 2, page }))).toMatchObject({ total, hasMore });
  });

  it('says that a total is exact up to 10,000, and only when everything is indexed', async () => {
    const ask = async (total: number, isComplete: boolean) => {
      const tx = { query: async () => [{ id: 'one', total, text: 'a' }] };
      const transact = (work: (inside: typeof tx) => Promise<unknown>): Promise<unknown> => work(tx);
      const indexing = { isComplete: async () => isComplete } as unknown as SearchBackfillService;
      const search = new RecordingSearchService({ transact } as unknown as DatabaseService, indexing);
      const { total: shown, totalIsExact } = await search.search('a', queryOf({ q: 'a' }));
      return [shown, totalIsExact];
    };
    expect(await ask(10_000, true)).toEqual([10_000, true]);
    expect(await ask(10_001, true)).toEqual([10_000, false]);
    expect(await ask(10_000, false)).toEqual([10_000, false]);
  });

  /** The statements of a search with so many matches, of which the newest are not frequent. */
  async function statementsOf(filters: object, total = 1): Promise<{ sql: string; parameters: unknown[] }[]> {
    const statements: { sql: string; parameters: unknown[] }[] = [];
    const query = async (sql: string, parameters: unknown[]) => {
      statements.push({ sql, parameters });
      return sql.includes('total') ? [{ id: 'one', total, text: 'a' }] : [];
    };
    const transact = (work: (inside: object) => Promise<unknown>): Promise<unknown> => work({ query });
    const search = new RecordingSearchService({ transact } as unknown as DatabaseService, backfill);
    await search.search('a', queryOf(filters));
    return statements;
  }

  it('limits every search to 5 s before it asks', async () => {
    const [limits] = await statementsOf({ q: 'a' });
    expect(limits?.sql).toContain(`set_config('statement_timeout', $1, true)`);
    expect(limits?.parameters).toEqual(['5000']);
  });

  it('compares the status of tagged recordings, and not where a text implies it', async () => {
    const [, tagged] = await statementsOf({ 'tag.kind': 'x', status: 'failed' });
    expect(tagged?.parameters).toContain('failed');
    const [, spoken] = await statementsOf({ q: 'a', status: 'transcribed' });
    expect(spoken?.parameters).not.toContain('transcribed');
  });

  it.each([
    [1000, 10_001, 4],
    [1001, 10_001, 3],
    [1000, 10_000, 2],
  ])('walks the list up to place 1,000 when there are more than 10,000: %s of %s', async (limit, total, count) => {
    expect(await statementsOf({ q: 'a', limit }, total)).toHaveLength(count);
  });

  it('runs 2 searches of an account and 6 in all at a time, and refuses what waits behind 20 more', async () => {
    const finish: (() => void)[] = [];
    let running = 0;
    const search = searchOf(async () => {
      running += 1;
      await new Promise<void>((resolve) => finish.push(resolve));
      running -= 1;
      return { items: [], total: 0, hasMore: false };
    });
    const ask = (account: string) => search.search(account, queryOf({ q: 'a' }));
    const turn = () => new Promise((resolve) => setImmediate(resolve));

    const first = Array.from({ length: 22 }, () => ask('a'));
    await turn();
    expect(running).toBe(2);
    await expect(ask('a')).rejects.toEqual(new RateLimitError(1));
    const others = ['b', 'b', 'c', 'c', 'd', 'd'].map(ask);
    await turn();
    expect(running).toBe(6);
    while (running > 0) {
      finish.shift()?.();
      await turn();
    }
    await Promise.all([...first, ...others]);
    const again = ask('a');
    await turn();
    finish.shift()?.();
    await again;
  });
});
