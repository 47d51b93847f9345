import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { Icon } from '../../../components/icon';
import { useShortcut } from '../../../hooks/use-shortcut';
import { t } from '../../../language/texts';
import { rateLimit } from '../../../session/session';
import './search-box.css';

/** After the last key; longer where an account has few requests left. */
const PAUSE_MS = 80;
const LONG_PAUSE_MS = 600;

/** Searches while the person types. */
export function SearchBox({ q, onSearch }: SearchBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  const { text, type, search } = useSearchText(q, onSearch);
  useEffect(() => {
    if ((history.state as { focus?: string } | null)?.focus === 'search') input.current?.focus();
  }, []);
  useShortcut('/', t('Search'), () => input.current?.select());
  return (
    <form
      class="search-box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        search(text);
      }}
    >
      <Icon name="search" />
      <input
        ref={input}
        class="input"
        type="search"
        dir="auto"
        maxLength={1000}
        placeholder={t('Search transcripts')}
        aria-label={t('Search transcripts')}
        aria-keyshortcuts="/"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          // The keys of the page are at hand again.
          if (event.key === 'Escape' && text === '') document.querySelector<HTMLElement>('#main h1')?.focus();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

interface SearchBoxProps {
  q: string;
  onSearch: (q: string) => void;
}

function useSearchText(q: string, onSearch: (q: string) => void) {
  const text = useSignal(q);
  const timer = useRef(0);
  const sent = useRef(q);
  useEffect(() => {
    // Another address, such as by the button back.
    if (q !== sent.current) text.value = q;
    sent.current = q;
  }, [q]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const search = (value: string) => {
    clearTimeout(timer.current);
    sent.current = value.trim();
    onSearch(sent.current);
  };
  const type = (value: string) => {
    text.value = value;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => search(value), pause());
  };
  return { text: text.value, type, search };
}

function pause(): number {
  const limit = rateLimit.peek();
  return limit && limit.remaining < Math.min(30, limit.limit / 2) ? LONG_PAUSE_MS : PAUSE_MS;
}
