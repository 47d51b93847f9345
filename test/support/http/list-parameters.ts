import type { Response } from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';

interface Page {
  uri: string;
  first_page_uri: string;
  next_page_uri: string | null;
  previous_page_uri: string | null;
  page: number;
  page_size: number;
  total: number;
}

/** The seven fields beside the collection, as D17 wants them. @param filters `&status=failed`, or nothing. */
export function envelope(path: string, { page = 0, limit = 50, size = 0, total = 0, filters = '' }): Page {
  const uriOf = (number: number): string => `${path}?page=${number}&limit=${limit}${filters}`;
  return {
    uri: uriOf(page),
    first_page_uri: uriOf(0),
    next_page_uri: (page + 1) * limit < total ? uriOf(page + 1) : null,
    previous_page_uri: page > 0 ? uriOf(page - 1) : null,
    page,
    page_size: size,
    total,
  };
}

/**
 * Follows `next_page_uri` from the first page to the last; every page must have the envelope that belongs there.
 * @returns the ids, in order.
 */
export async function walk(
  client: ApiClient,
  path: string,
  collection: string,
  { limit, total, filters = '' }: { limit: number; total: number; filters?: string },
): Promise<string[]> {
  const seen: string[] = [];
  let next: string | null = `${path}?limit=${limit}${filters}`;
  for (let page = 0; next !== null; page++) {
    const { body }: Response = await client.get(next).expect(200);
    const items = body[collection] as { id: string }[];
    seen.push(...items.map(({ id }) => id));
    expect(body).toMatchObject(envelope(path, { page, limit, size: items.length, total, filters }));
    next = body.next_page_uri as string | null;
  }
  return seen;
}
