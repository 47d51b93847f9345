import { useLayoutEffect, useRef } from 'preact/hooks';

import { Icon } from '../../../components/icon';
import { t } from '../../../language/texts';
import type { Reading } from './reading';
import './find-bar.css';

interface FindBarProps {
  reading: Reading;
  /** What has been found already. */
  found: string;
  onClose: () => void;
}

/** Searches inside this transcript. */
export function FindBar({ reading, found, onClose }: FindBarProps) {
  const input = useRef<HTMLInputElement>(null);
  const [hits, index] = [reading.hits.value, reading.hitIndex.value];
  // At once, so that what is typed next arrives here.
  useLayoutEffect(() => {
    if (found === '') input.current?.focus();
    return () => reading.find('');
  }, [reading]);
  const step = (by: number) => reading.showHit(index + by);
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose();
    else if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isSearching = (input.current?.value ?? '').trim() !== '';
  return (
    <search class="find">
      <input
        ref={input}
        type="search"
        class="find-input"
        dir="auto"
        aria-label={t('Search this transcript')}
        placeholder={t('Search this transcript')}
        defaultValue={found}
        onInput={(event) => reading.find(event.currentTarget.value)}
        onKeyDown={press}
      />
      <p class="find-count" role="status">
        {hits.length > 0
          ? t('{index} of {count}', { index: String(index + 1), count: String(hits.length) })
          : isSearching
            ? t('No matches')
            : ''}
      </p>
      <FindButton
        label={t('Previous match')}
        icon="chevron-up"
        isDisabled={hits.length === 0}
        onClick={() => step(-1)}
      />
      <FindButton label={t('Next match')} icon="chevron-down" isDisabled={hits.length === 0} onClick={() => step(1)} />
      <FindButton label={t('Close search')} icon="close" onClick={onClose} />
    </search>
  );
}

interface FindButtonProps {
  label: string;
  icon: 'chevron-up' | 'chevron-down' | 'close';
  isDisabled?: boolean;
  onClick: () => void;
}

function FindButton({ label, icon, isDisabled = false, onClick }: FindButtonProps) {
  return (
    <button type="button" class="button is-quiet is-icon" aria-label={label} disabled={isDisabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
