import { useSignal } from '@preact/signals';
import { useLocation } from 'wouter-preact';

import { Dialog } from '../components/dialog';
import { Icon } from '../components/icon';
import { t } from '../language/texts';
import { accountName } from '../session/account';
import { AccountChoice } from './account-choice';
import { LanguageSwitch } from './language-switch';
import { LimitedKey, TestMode } from './limited-key';
import { LimitMeter } from './limit-meter';
import { NavLinks } from './nav-links';
import { isCurrent, MENU_PAGES } from './pages';
import { askToSignOut } from './sign-out';
import { ThemeSwitch } from './theme-switch';

/** What does not fit into the bar of a small screen. */
export function Menu() {
  const open = useSignal(false);
  const [location] = useLocation();
  const close = () => (open.value = false);
  return (
    <>
      <button
        type="button"
        class={MENU_PAGES.some((page) => isCurrent(page, location)) ? 'nav-link is-current' : 'nav-link'}
        aria-haspopup="dialog"
        onClick={() => (open.value = true)}
      >
        <Icon name="menu" />
        <span>{t('More')}</span>
      </button>
      <Dialog open={open.value} title={accountName.value ?? t('More')} onClose={close}>
        <nav class="menu-links" aria-label={t('More pages')}>
          <NavLinks pages={MENU_PAGES} onFollow={close} />
        </nav>
        <AccountChoice />
        <TestMode />
        <LimitedKey />
        <LimitMeter />
        <div class="rail-choices">
          <ThemeSwitch />
          <LanguageSwitch />
        </div>
        <button
          type="button"
          class="button"
          onClick={() => {
            close();
            askToSignOut();
          }}
        >
          <Icon name="sign-out" />
          {t('Sign out')}
        </button>
      </Dialog>
    </>
  );
}
