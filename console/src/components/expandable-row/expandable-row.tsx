import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

import { Icon } from '../icon';
import './expandable-row.css';

interface Props {
  /** Of the line: its columns and its height. */
  class: string;
  line: ComponentChildren;
  /** Rendered while the row is open. */
  children: ComponentChildren;
}

/** A line of a list, which opens to its details. */
export function ExpandableRow({ class: lineClass, line, children }: Props) {
  const isOpen = useSignal(false);
  const detailId = useId();
  return (
    <li class="expandable">
      <button
        type="button"
        class={`expandable-line ${lineClass}`}
        aria-expanded={isOpen.value}
        aria-controls={isOpen.value ? detailId : undefined}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name={isOpen.value ? 'chevron-down' : 'chevron-right'} size={16} />
        {line}
      </button>
      {isOpen.value && (
        <div class="expandable-detail" id={detailId}>
          {children}
        </div>
      )}
    </li>
  );
}
