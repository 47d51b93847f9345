import fc from 'fast-check';
import { pageFields } from './page.js';

const PATH = '/v1/recordings';
const found = (items: number, total: number) => ({ items: Array.from({ length: items }), total });

describe('pageFields (D17)', () => {
  it('has exactly the seven fields beside the collection', () => {
    expect(pageFields(PATH, { page: 0, limit: 50 }, found(2, 2))).toEqual({
      uri: '/v1/recordings?page=0&limit=50',
      first_page_uri: '/v1/recordings?page=0&limit=50',
      next_page_uri: null,
      previous_page_uri: null,
      page: 0,
      page_size: 2,
      total: 2,
    });
  });

  it('puts page and limit first, then the filters in use, in every URI', () => {
    const query = { page: 1, limit: 50, status: 'failed', date_from: '2026-11-01', date_to: undefined };
    expect(pageFields(PATH, query, found(50, 120))).toMatchObject({
      uri: '/v1/recordings?page=1&limit=50&status=failed&date_from=2026-11-01',
      first_page_uri: '/v1/recordings?page=0&limit=50&status=failed&date_from=2026-11-01',
      next_page_uri: '/v1/recordings?page=2&limit=50&status=failed&date_from=2026-11-01',
      previous_page_uri: '/v1/recordings?page=0&limit=50&status=failed&date_from=2026-11-01',
    });
  });

  it('escapes a filter’s value', () => {
    const query = { page: 0, limit: 1, tag: 'a&limit=100 ü' };
    const { uri } = pageFields(PATH, query, found(0, 0));
    expect(Object.fromEntries(new URL(uri, 'http://x').searchParams)).toEqual({
      page: '0',
      limit: '1',
      tag: 'a&limit=100 ü',
    });
  });

  it('says of a page past the end that none follows, and which one came before', () => {
    const page = pageFields(PATH, { page: 7, limit: 10 }, found(0, 25));
    expect(page).toMatchObject({ next_page_uri: null, page: 7, page_size: 0, total: 25 });
    expect(page.previous_page_uri).toBe('/v1/recordings?page=6&limit=10');
  });

  it('has a next page exactly while there is more, whatever the figures', () => {
    const figures = fc.tuple(fc.nat(1e9), fc.integer({ min: 1, max: 100 }), fc.nat(1e6));
    fc.assert(
      fc.property(figures, ([page, limit, total]) => {
        const rest = total - page * limit;
        const fields = pageFields(PATH, { page, limit }, found(Math.max(0, Math.min(limit, rest)), total));
        expect(fields.next_page_uri !== null).toBe(rest > limit);
        expect(fields.previous_page_uri !== null).toBe(page > 0);
      }),
    );
  });
});
