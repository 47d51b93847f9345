import { signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'wouter-preact';

import { BulkProgressBar } from '../bulk/bulk-progress-bar';
import { Toasts } from '../components/toast';
import { useShortcut } from '../hooks/use-shortcut';
import { t } from '../language/texts';
import { arrivalScroll, navigate, navigations } from '../routing/hash-location';
import { UploadTray } from '../uploads/tray/upload-tray';
import { Brand } from './brand';
import { CommandPalette } from './command-palette';
import { focusNextHeading } from './focus-heading';
import { LiveMark } from './live-mark';
import { Menu } from './menu';
import { NavLinks } from './nav-links';
import { TAB_PAGES } from './pages';
import { Rail } from './rail';
import { scrollWhenLoaded } from './scrolling';
import { ShortcutHelp } from './shortcut-help';
import { SignOutDialogs } from './sign-out';
import { ThrottleNotice } from './throttle-notice';
import './layout.css';

/** The bar of a recording that goes on; the code of the recorder brings it, so that the first load does without. */
export const recordingBar = signal<ComponentType | null>(null);

export function Layout({ children }: { children: ComponentChildren }) {
  useFocusOnNavigation();
  const RecordingBar = recordingBar.value;
  useShortcut('/', t('Search the recordings'), searchRecordings, { isGlobal: true });
  return (
    <div class="layout">
      <a class="skip button" href="#main" onClick={skip}>
        {t('Skip to content')}
      </a>
      <header class="layout-top">
        <Brand />
        <LiveMark />
      </header>
      <Rail />
      <main id="main" tabIndex={-1}>
        <ThrottleNotice />
        <BulkProgressBar />
        {RecordingBar && <RecordingBar />}
        {children}
        <UploadTray />
      </main>
      <Tabs />
      <Toasts />
      <ShortcutHelp />
      <CommandPalette />
      <SignOutDialogs />
    </div>
  );
}

/** At the bottom of a small screen. */
function Tabs() {
  return (
    <nav class="tabs" aria-label={t('Pages')}>
      <NavLinks pages={TAB_PAGES} />
      <Menu />
    </nav>
  );
}

/** On a page that has no search of its own. */
function searchRecordings(): void {
  navigate('/', { state: { focus: 'search' } });
}

function useFocusOnNavigation(): void {
  const [path] = useLocation();
  const heading = useRef<Element | null>(null);
  useEffect(() => {
    const isFirst = navigations.peek() === 0;
    const before = heading.current;
    const end = isFirst ? () => undefined : focusNextHeading(before);
    const endScroll = isFirst ? () => undefined : scrollWhenLoaded(arrivalScroll());
    return () => {
      heading.current = document.querySelector('#main h1');
      end();
      endScroll();
    };
  }, [path]);
}

/** The fragment names the page, so the link only moves the focus. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
