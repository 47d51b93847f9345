import { useEffect } from 'preact/hooks';

/** What the tab of the browser shows. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Voice notes`;
  }, [title]);
}
