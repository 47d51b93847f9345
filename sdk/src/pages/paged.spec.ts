import { pagesOf } from './paged.js';

interface Item {
  id: string;
}
interface ItemPage {
  items: Item[];
  next_page_uri: string | null;
}

/** A list of two items a page, as the service answers for what it holds at that moment. */
function listOf(held: string[], log: string[] = []) {
  const page = (n: number): Promise<ItemPage> => {
    log.push(`page ${n}`);
    const items = held.slice(n * 2, n * 2 + 2).map((id) => ({ id }));
    return Promise.resolve({ items, next_page_uri: (n + 1) * 2 < held.length ? `/v1/items?page=${n + 1}` : null });
  };
  return pagesOf(
    () => page(0),
    (uri) => page(Number(uri.split('=')[1])),
    ({ items }) => items,
  );
}

describe('Paged', () => {
  it('fetches the first page for await, and each further one when it is reached', async () => {
    const log: string[] = [];
    const list = listOf(['e', 'd', 'c', 'b', 'a'], log);
    expect(log).toEqual([]);
    expect((await list).items).toHaveLength(2);
    for await (const { id } of list) if (id === 'c') break;
    expect(log).toEqual(['page 0', 'page 1']);
    expect((await list.all()).map(({ id }) => id).join('')).toBe('edcba');
  });

  it('gives an item once that moves to the next page while the list is read', async () => {
    const held = ['d', 'c', 'b', 'a'];
    const seen: string[] = [];
    for await (const { id } of listOf(held)) {
      seen.push(id);
      if (id === 'c') held.unshift('e');
    }
    expect(seen.join('')).toBe('dcba');
  });

  it('asks again after a failure', async () => {
    let attempts = 0;
    const first = (): Promise<ItemPage> =>
      (attempts += 1) === 1 ? Promise.reject(new Error('lost')) : Promise.resolve({ items: [], next_page_uri: null });
    const list = pagesOf(first, first, ({ items }) => items);
    expect(await list.catch((error: unknown) => String(error))).toBe('Error: lost');
    expect(await list.all()).toEqual([]);
  });
});
