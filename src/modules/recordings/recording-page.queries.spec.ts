import { presentRecordingPage } from './recording.presenter.js';
import { ListRecordingsQuery } from './recordings.dto.js';
import { LISTED_COLUMNS, type ListedRecording, pageStatement } from './recording-page.queries.js';

const listed = [...LISTED_COLUMNS.matchAll(/AS "(\w+)"/g)].map(([, property]) => property);

describe('LISTED_COLUMNS', () => {
  it('are all columns that a page shows, and no others', () => {
    const read = new Set<string | symbol>();
    const recording = new Proxy({ createdAt: new Date(), updatedAt: new Date(), customTags: null } as ListedRecording, {
      get: (row, property) => (read.add(property), Reflect.get(row, property) as unknown),
    });
    const query = Object.assign(new ListRecordingsQuery(), { include: 'title' });
    presentRecordingPage(query, { items: [recording], total: 1 });
    expect(new Set<unknown>(listed)).toEqual(read);
  });

  it.each([0, 1])('are what page %i of every kind reads', (page) => {
    for (const filter of [{}, { status: 'failed' }, { date_from: '2026-11-21' }, { order: 'oldest' }]) {
      const { sql } = pageStatement('a', Object.assign(new ListRecordingsQuery(), { page }, filter));
      expect(sql).toContain(`SELECT ${LISTED_COLUMNS} FROM recordings r`);
    }
  });
});

describe('pageStatement', () => {
  const parametersOf = (query: Partial<ListRecordingsQuery>): unknown[] =>
    pageStatement('a', Object.assign(new ListRecordingsQuery(), { limit: 20 }, query)).parameters;

  it.each<[Partial<ListRecordingsQuery>, unknown[]]>([
    [{}, ['a', 20]],
    [{ page: 3 }, ['a', 20, 60]],
    [{ status: 'failed' }, ['a', 20, 'failed']],
    [{ status: 'failed', page: 1 }, ['a', 20, 20, 'failed']],
    [{ date_from: '2026-11-21' }, ['a', 20, '2026-11-21', 'infinity']],
    [{ date_to: '2026-11-21' }, ['a', 20, '-infinity', '2026-11-21']],
    [{ date_to: '2026-11-21', status: 'failed', page: 2 }, ['a', 20, 40, '-infinity', '2026-11-21', 'failed']],
    [{ order: 'oldest', date_to: '2026-11-21', page: 1 }, ['a', 20, 20, '-infinity', '2026-11-21']],
  ])('of %j has the parameters %j', (query, parameters) => {
    expect(parametersOf(query)).toEqual(parameters);
  });

  it('has one statement for each kind of page', () => {
    const sqlOf = (query: object): string => pageStatement('a', Object.assign(new ListRecordingsQuery(), query)).sql;
    const filters = [{}, { status: 'failed' }, { date_to: '2026-11-21' }, { date_to: '2026-11-21', status: 'failed' }];
    const pages = [0, 1].flatMap((page) => [
      { page, order: 'newest' },
      { page, order: 'oldest' },
    ]);
    const statements = pages.flatMap((page) => filters.map((filter) => sqlOf({ ...page, ...filter })));
    expect(new Set(statements).size).toBe(16);
    expect(sqlOf({ order: 'newest' })).toBe(sqlOf({}));
    expect(sqlOf({ date_from: '2026-11-21' })).toBe(sqlOf({ date_to: '2026-11-21' }));
  });
});
