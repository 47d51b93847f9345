import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';

import { Icon } from '../components/icon';
import { usePageTitle } from './use-page-title';

interface PageHeaderProps {
  title: string;
  /** One sentence below the title. */
  hint?: ComponentChildren;
  /** Buttons beside it. */
  actions?: ComponentChildren;
  /** The page above this one. */
  back?: { href: string; label: string };
}

/** The heading of a page; the focus moves here when the page is opened. */
export function PageHeader({ title, hint, actions, back }: PageHeaderProps) {
  usePageTitle(title);
  return (
    <header class="page-header">
      <div class="page-header-text">
        {back && (
          <Link href={back.href} class="page-back">
            <Icon name="chevron-left" size={16} />
            {back.label}
          </Link>
        )}
        <h1 dir="auto" tabIndex={-1}>
          {title}
        </h1>
        {hint && <p class="muted">{hint}</p>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </header>
  );
}
