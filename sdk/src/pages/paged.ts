/** A list, one page of it after the other. */
export interface Page {
  /** Path of the next page, in the lists that are counted. */
  next_page_uri?: string | null;
  /** Path of the next page, in the others. */
  next_uri?: string | null;
}

interface Source<P, T> {
  first: () => Promise<P>;
  next: (uri: string) => Promise<P>;
  /** What a page holds. */
  itemsOf: (page: P) => readonly T[];
  /** Tells items apart. */
  idOf?: (item: T) => unknown;
}

/**
 * A list. `await` it for its first page, or walk through all of it with `for await`, which fetches further pages when
 * they are reached. An item that moved to the next page, because others were added before it, comes once. Items that you
 * delete on the way move the others forward: take them with `all()` first.
 */
export class Paged<P extends Page, T> implements PromiseLike<P>, AsyncIterable<T> {
  private firstPage: Promise<P> | null = null;

  constructor(private readonly source: Source<P, T>) {}

  /** Fetches the first page. */
  // oxlint-disable-next-line unicorn/no-thenable -- a list is awaited for its first page
  then<A = P, B = never>(
    onFulfilled?: ((page: P) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.first().then(onFulfilled, onRejected);
  }

  /** As that of a promise of the first page. */
  catch<B>(onRejected: (reason: unknown) => B | PromiseLike<B>): Promise<P | B> {
    return this.first().catch(onRejected);
  }

  /** As that of a promise of the first page. */
  finally(onFinally: () => void): Promise<P> {
    return this.first().finally(onFinally);
  }

  /** The pages themselves, with their totals. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    for (let page = await this.first(); ;) {
      yield page;
      const uri = page.next_page_uri ?? page.next_uri;
      if (!uri) return;
      page = await this.source.next(uri);
    }
  }

  /** The items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const { itemsOf, idOf = (item: T): unknown => item } = this.source;
    let before = new Set<unknown>();
    for await (const page of this.pages()) {
      const items = itemsOf(page);
      for (const item of items) if (!before.has(idOf(item))) yield item;
      before = new Set(items.map(idOf));
    }
  }

  /** All items at once. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  private first(): Promise<P> {
    if (!this.firstPage) {
      this.firstPage = this.source.first();
      // The next await asks again.
      this.firstPage.catch(() => (this.firstPage = null));
    }
    return this.firstPage;
  }
}

/** The pages of a list that is counted, whose items have an `id`. */
export function pagesOf<P extends Page, T extends { id: string }>(
  first: () => Promise<P>,
  next: (uri: string) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): Paged<P, T> {
  return new Paged({ first, next, itemsOf, idOf: ({ id }) => id });
}
