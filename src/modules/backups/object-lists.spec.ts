import { SortedSources } from './object-lists.js';

async function* listed(...keys: string[]): AsyncGenerator<{ key: string; from: string }> {
  for (const key of keys) yield { key, from: keys.join('') };
}

describe('sources in one order', () => {
  it('are read once, whatever is asked for', async () => {
    const sources = new SortedSources([listed('b', 'd', 'f'), listed('a', 'd', 'g')]);
    const found: (string | undefined)[] = [];
    for (const key of ['a', 'b', 'c', 'd', 'e', 'g', 'h']) found.push((await sources.find(key))?.from);
    expect(found).toEqual(['adg', 'bdf', undefined, 'bdf', undefined, 'adg', undefined]);
  });

  it('may be empty, or none', async () => {
    expect(await new SortedSources([listed()]).find('a')).toBeNull();
    expect(await new SortedSources([]).find('a')).toBeNull();
  });
});
