import type { DatabaseService } from '../../../platform/database/database.service.js';
import { RateLimitError } from '../../../platform/errors/errors.js';
import { ListRecordingsQuery } from '../recordings.dto.js';
import { RecordingSearchService } from './recording-search.service.js';
import type { SearchBackfillService } from './backfill/search-backfill.service.js';

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

  it('runs 2 searches of an account and 6 in all at a time, and refuses what waits behind 20 more', async () => {
    const finish: (() => void)[] = [];
    let running = 0;
    const search = searchOf(async () => {
      running += 1;
      await new Promise<void>((resolve) => finish.push(resolve));
      running -= 1;
      return { found: [], total: 0, hasMore: false };
    });
    const ask = (account: string) => search.search(account, queryOf({ q: 'a' }));
    const turn = () => new Promise((resolve) => setImmediate(resolve));

    const first = Array.from({ length: 22 }, () => ask('a'));
    await turn();
    expect(running).toBe(2);
    await expect(ask('a')).rejects.toThrow(RateLimitError);
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
