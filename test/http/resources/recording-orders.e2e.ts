import { RecordingSearchService } from '../../../src/modules/recordings/search/recording-search.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { insertCorrections } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { checkRows } from '../../support/check-rows.js';
import { expectInvalid } from '../../support/http/expect-errors.js';
import { walk } from '../../support/http/list-parameters.js';
import { insertRecordings, type SqlColumns } from '../../support/state/inserted-rows.js';
import { seedNotes } from '../../support/state/many-notes.js';
import { upload } from '../../support/state/recording-states.js';

const RECORDINGS = '/v1/recordings';
/** That lists by length can show. */
const MOST = 10_000;

const service = useService({ ROLES: 'api' });

describe('the order of recordings (D106)', () => {
  let client: ApiClient;
  let ids: string[];

  /** From the oldest to the newest: several are as long as others, of two the length is not known. */
  beforeEach(async () => {
    client = await service.account();
    const seconds = [3, 60, 0, 3, 7200, 60, 3];
    const notes = seconds.map((length, i) => ({
      text: i % 2 === 0 ? 'call the gate' : 'a letter',
      status: length === 0 ? ('failed' as const) : ('transcribed' as const),
      tags: { list: i < 4 ? 'A' : 'B' },
      userId: i < 5 ? 'ada' : 'eve',
      durationMs: length * 1000,
    }));
    ids = await seedNotes(service, client, notes);
    ids.push(await upload(client));
    await service.database.query('UPDATE recordings SET duration_ms = 0 WHERE id = $1', [ids[7]]);
  });

  const places = (found: readonly string[]): number[] => found.map((id) => ids.indexOf(id));
  const list = async (query: string): Promise<number[]> => {
    const { body } = await client.get(`${RECORDINGS}?${query}`).expect(200);
    return places((body.recordings as { id: string }[]).map(({ id }) => id));
  };

  const NEWEST = [7, 6, 5, 4, 3, 2, 1, 0];
  const LONGEST = [4, 5, 1, 6, 3, 0, 7, 2];
  const ORDERS = {
    newest: NEWEST,
    oldest: NEWEST.toReversed(),
    longest: LONGEST,
    shortest: LONGEST.toReversed(),
  };

  it('holds from page to page, each recording once, also where several are as long; without a length they count as 0', async () => {
    for (const [order, expected] of Object.entries(ORDERS)) {
      for (const limit of [1, 3, 8]) {
        const filters = `&order=${order}`;
        expect([order, places(await walk(client, RECORDINGS, 'recordings', { limit, total: 8, filters }))]).toEqual([
          order,
          expected,
        ]);
      }
    }
  });

  it('goes with every filter, with words and with what is included', async () => {
    const begun = new Date(Date.now() - 3_600_000).toISOString();
    const today = new Date().toISOString().slice(0, 10);
    const filters: [query: string, places: number[]][] = [
      ['status=transcribed', [0, 1, 3, 4, 5, 6]],
      ['status=failed', [2]],
      ['user_id=ada', [0, 1, 2, 3, 4]],
      ['user_id=ada&status=transcribed', [0, 1, 3, 4]],
      ['date_from=2020-01-01', [0, 1, 2, 3, 4, 5, 6, 7]],
      [`date_to=2020-01-01`, []],
      [`created_from=${begun}`, [0, 1, 2, 3, 4, 5, 6, 7]],
      [`created_before=${begun}`, []],
      ['tag.list=A', [0, 1, 2, 3]],
      ['tag.list=A&status=failed', [2]],
      ['q=gate', [0, 4, 6]],
      ['q=gate&tag.list=B&user_id=ada', [4]],
      ['include=title,snippet', [0, 1, 2, 3, 4, 5, 6, 7]],
      [`date_to=${today}&created_from=${begun}&user_id=eve`, [5, 6]],
    ];
    await checkRows(filters, async (query, matching) => {
      for (const [order, all] of Object.entries(ORDERS)) {
        const expected = all.filter((place) => matching.includes(place));
        expect([order, await list(`${query}&order=${order}`)]).toEqual([order, expected]);
      }
    });
    expect(await list('limit=2&page=1&q=gate&order=longest')).toEqual([0]);
  });

  it('of new recordings: the oldest first has its pages as they were', async () => {
    expect(await list('limit=3&order=oldest')).toEqual([0, 1, 2]);
    ids.push(await upload(client));
    expect(await list('limit=3&page=1&order=oldest')).toEqual([3, 4, 5]);
    expect(await list('limit=3&page=2&order=oldest')).toEqual([6, 7, 8]);
  });

  it('is refused by name and rule', async () => {
    await checkRows<[query: string, field: string, rule: RegExp]>(
      [
        ['order=best', 'order', /^must be newest, oldest, longest, shortest or rank$/],
        ['order=', 'order', /^must be newest/],
        ['order=Longest', 'order', /^must be newest/],
        ['order=longest&order=oldest', 'order', /^may be given only once$/],
        ['order=rank', 'order', /^may be rank only with q$/],
        ['order=rank&tag.list=A', 'order', /^may be rank only with q$/],
        ['order=longest&page=200', 'page', /^must be below 200 with order=longest and limit=50/],
        ['order=shortest&page=100&limit=100', 'page', /^must be below 100 /],
        ['order=shortest&page=1000000000&limit=1&q=gate', 'page', /^must be below 10000 /],
      ],
      async (query, field, rule) => {
        const response = await client.get(`${RECORDINGS}?${query}`);
        expectInvalid(response, field);
        expect(response.body.error.details.reason).toMatch(rule);
      },
    );
    expect(await list('order=longest&page=99&limit=100')).toEqual([]);
    expect(await list('order=oldest&page=1000000000')).toEqual([]);
  });

  describe('of more recordings than a list by length sorts', () => {
    const more = async (columns: SqlColumns): Promise<string[]> => {
      const inserted = await insertRecordings(service, client, columns, MOST);
      await insertCorrections(service.database, client.accountId);
      return inserted;
    };
    const page = (query: string) => client.get(`${RECORDINGS}?limit=100&${query}`);

    it('lists the first 10,000, with all of them counted', async () => {
      await more({ created_at: `now() - i * interval '10 s'`, duration_ms: '100000 + i' });
      const { body } = await page('order=longest&page=98').expect(200);
      expect(body).toMatchObject({ total: MOST + 8, page_size: 100 });
      expect(body.next_page_uri).toBe(`${RECORDINGS}?page=99&limit=100&order=longest`);
      const last = (await page('order=longest&page=99').expect(200)).body;
      expect(last).toMatchObject({ total: MOST + 8, page_size: 100, next_page_uri: null });
      expect((await page('order=oldest&page=100').expect(200)).body).toMatchObject({ page_size: 8 });
      expect(await list('order=shortest&limit=5')).toEqual(LONGEST.toReversed().slice(0, 5));
      // Many match, and the longest are among them.
      expect((await page('order=longest&date_from=2020-01-01').expect(200)).body).toMatchObject({ page_size: 100 });
      const begun = new Date(Date.now() - 86_400_000 * 7).toISOString();
      expect(await list(`order=longest&limit=1&created_from=${begun}`)).toEqual([4]);
    });

    it('refuses those of an end user, and those with a word', async () => {
      const inserted = await more({ user_id: `'eve'`, status: `'transcribed'` });
      expectInvalid(await page('order=longest&user_id=eve'), 'order');
      expect(await list('order=longest&user_id=ada')).toEqual(LONGEST.filter((place) => place < 5));
      const search = service.app.get(RecordingSearchService);
      await service.database.transact((tx) => search.replace(tx, client.accountId, inserted[0] as string, 'gate'));
      await service.database.query(
        `INSERT INTO search_documents SELECT r.id, r.account_id, r.created_at, s.terms, s.folded, s.text
         FROM recordings r, search_documents s WHERE s.recording_id = $1 AND r.id = ANY ($2) AND r.id <> $1`,
        [inserted[0], inserted],
      );
      expectInvalid(await page('order=shortest&q=gate'), 'order');
      expect((await page('order=oldest&q=gate').expect(200)).body.recordings).toMatchObject([
        { id: ids[0] },
        { id: ids[4] },
        { id: ids[6] },
        ...Array.from({ length: 97 }, () => ({})),
      ]);
      expect(await list('order=shortest&q=gate&user_id=ada')).toEqual([0, 4]);
    });
  });
});
