import type { Repository } from 'typeorm';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import type { EventSequence } from './webhook-event.entity.js';
import { EventFeedService } from './event-feed.service.js';

/** Events of one account that one statement numbers, and accounts that it locks. */
const [BATCH, MAX_ACCOUNTS] = [1000, 100];

describe('EventFeedService', () => {
  /** Events that have a number, and that have none yet. */
  let numbered: number;
  let unnumbered: number;
  /** Accounts and bound of each statement that gives numbers. */
  let given: [string[], number][];
  /** Positions and bounds of each page that is read. */
  let pages: unknown[][];
  let accounts: string[];
  let asked: unknown[][];
  let feed: EventFeedService;

  beforeEach(() => {
    [numbered, unnumbered] = [0, 0];
    [given, pages, accounts, asked] = [[], [], [], []];
    const prepared = async (sql: string, parameters: unknown[]) => {
      if (sql.includes('number_events')) {
        const [ids, count] = parameters as [string[], number];
        given.push([ids, count]);
        const done = Math.min(unnumbered, count);
        [numbered, unnumbered] = [numbered + done, unnumbered - done];
        return [{ numbered: done }];
      }
      pages.push(parameters);
      const [, afters, limit] = parameters as [string[], number[], number];
      return afters.flatMap((after, place) => {
        const count = Math.max(0, Math.min(limit, numbered - after));
        return Array.from({ length: count }, (_, i) => ({ place, sequence: after + i + 1, body: '{}' }));
      });
    };
    const query = async (_: string, parameters: unknown[]) => {
      asked.push(parameters);
      return accounts.splice(0, MAX_ACCOUNTS).map((id) => ({ id }));
    };
    feed = new EventFeedService(
      {
        findOneBy: async () => (numbered === 0 ? null : { last: `${numbered}` }),
      } as unknown as Repository<EventSequence>,
      { prepared, query } as unknown as DatabaseService,
    );
  });

  const page = async (after: number, limit: number): Promise<[number[], boolean]> => {
    const { events, hasMore } = await feed.page('a', after, limit);
    return [events.map(({ sequence }) => sequence), hasMore];
  };

  it('reads one event more than a page has, to know whether more follow', async () => {
    numbered = 5;
    expect(await page(0, 2)).toEqual([[1, 2], true]);
    expect(await page(3, 2)).toEqual([[4, 5], false]);
    expect(await page(5, 2)).toEqual([[], false]);
    expect(pages).toEqual([
      [['a'], [0], 3],
      [['a'], [3], 3],
      [['a'], [5], 3],
    ]);
  });

  it('numbers events before it reads a page, also those that would follow it', async () => {
    [numbered, unnumbered] = [1, 2];
    expect(await page(0, 2)).toEqual([[1, 2], true]);
    expect(given).toEqual([[['a'], BATCH]]);
    expect(pages).toHaveLength(1);
  });

  it('tells the last event after all have numbers, 0 without any', async () => {
    expect(await feed.latest('a')).toBe(0);
    expect(given).toEqual([[['a'], BATCH]]);
    given = [];
    [numbered, unnumbered] = [4, 2 * BATCH + 1];
    expect(await feed.latest('a')).toBe(2005);
    expect(given).toEqual(Array.from({ length: 3 }, () => [['a'], BATCH]));
  });

  it('reads for several readers, with the events of each in its own place; numbers each account once', async () => {
    numbered = 2;
    const readers = ['a', 'b', 'a'].map((accountId, after) => ({ accountId, after }));
    const found = await feed.next(readers, 100);
    expect(found.map(({ events }) => events.map(({ sequence }) => sequence))).toEqual([[1, 2], [2], []]);
    expect(found[0]?.events[0]).not.toHaveProperty('place');
    expect(given).toEqual([[['a', 'b'], BATCH]]);
  });

  it('numbers what nobody has read, 100 accounts at a time', async () => {
    accounts = Array.from({ length: MAX_ACCOUNTS + 1 }, (_, i) => `${i}`);
    unnumbered = BATCH + 1;
    await feed.numberRemaining();
    expect(asked).toEqual([[MAX_ACCOUNTS], [MAX_ACCOUNTS]]);
    expect(given.map(([ids, count]) => [ids.length, count])).toEqual([
      [MAX_ACCOUNTS, BATCH],
      [MAX_ACCOUNTS, BATCH],
      [1, BATCH],
    ]);
    given = [];
    await feed.numberRemaining();
    expect(given).toEqual([]);
  });
});
