import { Icon } from '../icon';
import './pager.css';

interface PagerProps {
  /** From 0. */
  page: number;
  total: number;
  pageSize: number;
  /** The service counts up to a bound only: `10,000+`. */
  isTotalExact?: boolean;
  onPage: (page: number) => void;
}

export function Pager({ page, total, pageSize, isTotalExact = true, onPage }: PagerProps) {
  const pages = Math.max(1, Math.ceil(total / pageSize));
  const [first, last] = [page * pageSize + 1, Math.min(total, (page + 1) * pageSize)];
  const all = `${total.toLocaleString('en')}${isTotalExact ? '' : '+'}`;
  return (
    <nav class="pager" aria-label="More pages">
      <span class="pager-range numbers muted">
        {total === 0 ? 'None' : `${first.toLocaleString('en')}–${last.toLocaleString('en')} of ${all}`}
      </span>
      <button
        type="button"
        class="button is-icon"
        aria-label="Previous page"
        disabled={page <= 0}
        onClick={() => onPage(page - 1)}
      >
        <Icon name="chevron-left" />
      </button>
      <button
        type="button"
        class="button is-icon"
        aria-label="Next page"
        disabled={page >= pages - 1}
        onClick={() => onPage(page + 1)}
      >
        <Icon name="chevron-right" />
      </button>
    </nav>
  );
}
