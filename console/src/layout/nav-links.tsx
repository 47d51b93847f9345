import { Link, useLocation } from 'wouter-preact';

import { Icon } from '../components/icon';
import { t } from '../language/texts';
import { isCurrent, isOffered, type PageLink } from './pages';

export function NavLinks({ pages, onFollow }: { pages: readonly PageLink[]; onFollow?: () => void }) {
  const [location] = useLocation();
  return (
    <>
      {pages.filter(isOffered).map((page) => (
        <Link
          key={page.path}
          href={page.path}
          class="nav-link"
          aria-current={isCurrent(page, location) ? 'page' : undefined}
          onClick={onFollow}
        >
          <Icon name={page.icon} />
          <span>{t(page.title)}</span>
        </Link>
      ))}
    </>
  );
}
