/** One page of a list, as the service answers. */
export interface Page {
  page: number;
  page_size: number;
  total: number;
  next_page_uri: string | null;
  previous_page_uri: string | null;
}

/**
 * A list. `await` it for its first page, or walk through all of it with `for await`, which fetches further pages when
 * they are reached.
 */
export class Paged<P extends Page, T> implements PromiseLike<P>, AsyncIterable<T> {
  private first: Promise<P> | null = null;

  /**
   * @param fetchPage by its number; undefined for the one that the query names
   * @param itemsOf what a page holds
   */
  constructor(
    private readonly fetchPage: (page?: number) => Promise<P>,
    private readonly itemsOf: (page: P) => readonly T[],
  ) {}

  // oxlint-disable-next-line unicorn/no-thenable -- a list is awaited for its first page
  then<A = P, B = never>(
    onFulfilled?: ((page: P) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.firstPage().then(onFulfilled, onRejected);
  }

  async *pages(): AsyncGenerator<P> {
    for (let page = await this.firstPage(); ; page = await this.fetchPage(page.page + 1)) {
      yield page;
      if (page.next_page_uri === null) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const page of this.pages()) yield* this.itemsOf(page);
  }

  private firstPage(): Promise<P> {
    this.first ??= this.fetchPage();
    return this.first;
  }
}
