import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';

import { signOut } from '../session/session';
import './layout.css';

const PAGES = [
  ['/', 'Recordings'],
  ['/record', 'Record'],
  ['/webhooks', 'Webhooks'],
  ['/keys', 'Keys'],
  ['/usage', 'Usage'],
  ['/errors', 'Errors'],
] as const;

export function Layout({ children }: { children: ComponentChildren }) {
  return (
    <div class="layout">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="layout-header">
        <nav aria-label="Pages">
          {PAGES.map(([path, title]) => (
            <Link key={path} href={path} className={(active) => (active ? 'nav-link is-active' : 'nav-link')}>
              {title}
            </Link>
          ))}
        </nav>
        <button type="button" class="button is-quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** The fragment names the page, so the link only moves the focus. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
