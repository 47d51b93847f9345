import { t } from '../../language/texts';
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
  const range = { first, last, total };
  return (
    <nav class="pager" aria-label={t('More pages')}>
      <span class="pager-range numbers muted">
        {total === 0
          ? t('None')
          : isTotalExact
            ? t('{first, number}–{last, number} of {total, number}', range)
            : t('{first, number}–{last, number} of {total, number}+', range)}
      </span>
      <button
        type="button"
        class="button is-icon"
        aria-label={t('Previous page')}
        disabled={page <= 0}
        onClick={() => onPage(page - 1)}
      >
        <Icon name="chevron-left" />
      </button>
      <button
        type="button"
        class="button is-icon"
        aria-label={t('Next page')}
        disabled={page >= pages - 1}
        onClick={() => onPage(page + 1)}
      >
        <Icon name="chevron-right" />
      </button>
    </nav>
  );
}
