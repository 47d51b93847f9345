import { Icon } from '../components/icon';
import { t } from '../language/texts';
import { account, accountName } from '../session/account';
import { session } from '../session/session';
import { AccountChoice, hasChoice } from './account-choice';
import { Brand } from './brand';
import { CommandPaletteButton } from './command-palette';
import { LanguageSwitch } from './language-switch';
import { LimitedKey, TestMode } from './limited-key';
import { LimitMeter } from './limit-meter';
import { LiveMark } from './live-mark';
import { NavLinks } from './nav-links';
import { ACCOUNT_PAGES, NOTE_PAGES } from './pages';
import { askToSignOut } from './sign-out';
import { ThemeSwitch } from './theme-switch';

/** At the side of a wide screen. */
export function Rail() {
  return (
    <header class="rail">
      <div class="rail-brand">
        <Brand />
      </div>
      <nav class="rail-nav" aria-label={t('Pages')}>
        <CommandPaletteButton />
        <NavLinks pages={NOTE_PAGES} />
        <hr />
        <NavLinks pages={ACCOUNT_PAGES} />
      </nav>
      <div class="rail-foot">
        <TestMode />
        <LimitedKey />
        <LiveMark />
        <LimitMeter />
        <div class="rail-choices">
          <ThemeSwitch />
          <LanguageSwitch />
        </div>
        <AccountChoice />
        <div class="rail-account">
          <span class="rail-account-name" dir="auto" title={account.value?.email}>
            {hasChoice() ? session.value?.person.name : accountName.value}
          </span>
          <button
            type="button"
            class="button is-quiet is-icon"
            aria-label={t('Sign out')}
            title={t('Sign out')}
            onClick={askToSignOut}
          >
            <Icon name="sign-out" />
          </button>
        </div>
      </div>
    </header>
  );
}
