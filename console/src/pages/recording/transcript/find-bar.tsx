import { useLayoutEffect, useRef } from 'preact/hooks';

import { Icon } from '../../../components/icon';
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
        aria-label="Search this transcript"
        placeholder="Search this transcript"
        defaultValue={found}
        onInput={(event) => reading.find(event.currentTarget.value)}
        onKeyDown={press}
      />
      <p class="find-count" role="status">
        {hits.length > 0 ? `${index + 1} of ${hits.length}` : isSearching ? 'No matches' : ''}
      </p>
      <FindButton label="Previous match" icon="chevron-up" isDisabled={hits.length === 0} onClick={() => step(-1)} />
      <FindButton label="Next match" icon="chevron-down" isDisabled={hits.length === 0} onClick={() => step(1)} />
      <FindButton label="Close search" icon="close" onClick={onClose} />
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
