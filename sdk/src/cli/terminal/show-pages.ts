import type { Paged } from '../../index.js';
import { count } from './format.js';
import type { Output } from './output.js';

interface ListPage {
  page: number;
  total: number;
  next_page_uri: string | null;
}

interface Shown<P extends ListPage, T> {
  /** Walks through all pages; JSON is then a line for each item. */
  all: boolean;
  items: (page: P) => readonly T[];
  print: (items: readonly T[]) => void;
  /** What to say when there is nothing. */
  none: string;
  summary?: (total: number) => string;
}

/** Prints a page of a list, with the way to the next one, or all of them as they come. */
export async function showPages<P extends ListPage, T>(
  output: Output,
  list: Paged<P, T>,
  { all, items, print, none, summary = (total) => count(total, 'result') }: Shown<P, T>,
): Promise<void> {
  if (!all) {
    const page = await list;
    output.document(page);
    if (items(page).length > 0) print(items(page));
    else output.note(page.total === 0 ? none : `This page is empty; there are ${summary(page.total)}.`);
    if (page.next_page_uri !== null) {
      const next = `--page ${page.page + 1}`;
      output.note(`${items(page).length} of ${summary(page.total)}. The next: ${next}. All: --all.`);
    }
    return;
  }
  let shown = 0;
  for await (const page of list.pages()) {
    shown += items(page).length;
    if (output.json) for (const item of items(page)) output.jsonLine(item);
    else if (items(page).length > 0) print(items(page));
  }
  if (shown === 0) output.note(none);
}
