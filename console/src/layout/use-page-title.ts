import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const pageTitle = signal('');

/** Stands before the title of every page, so that a tab in the background shows what goes on in it. */
export const titleMark = signal('');

effect(() => {
  if (pageTitle.value !== '') document.title = `${titleMark.value}${pageTitle.value} · Voice notes`;
});

/** What the tab of the browser shows. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    pageTitle.value = title;
  }, [title]);
}
