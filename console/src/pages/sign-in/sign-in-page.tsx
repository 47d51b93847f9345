import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

import { t } from '../../language/texts';
import { Brand } from '../../layout/brand';
import { LanguageSwitch } from '../../layout/language-switch';
import { usePageTitle } from '../../layout/use-page-title';
import { hasPasskeys } from '../../session/passkeys';
import { baseUrl, lastWasKey } from '../../session/session';
import { type Provider, useSignInWays } from '../../session/sign-in-ways';
import { AskForLink } from './ask-for-link';
import { PasskeyButton } from './passkey-button';
import { PersonForm, SignInAgain } from './person-form';
import { SignInForm } from './sign-in-form';
import './sign-in.css';

/** Heights of the bars in the picture, of a spoken sentence. */
const BARS = [8, 14, 30, 52, 38, 64, 88, 70, 46, 58, 34, 18, 10, 26, 60, 94, 76, 48, 66, 40, 22, 12, 28, 44, 30, 16, 8];

export function SignInPage() {
  usePageTitle(t('Sign in'));
  const { ways, providers, sends_links } = useSignInWays();
  const hasPassword = ways.includes('password');
  const withPasskey = ways.includes('passkey') && hasPasskeys();
  const withKey = useSignal(lastWasKey);
  useEffect(() => document.getElementById(withKey.value ? 'key' : 'email')?.focus(), [withKey.value]);
  return (
    <SignInFrame>
      <div class="sign-in-words">
        <h1>{t('Sign in')}</h1>
        <p class="muted">
          {withKey.value
            ? t('Use an API key of your account and its secret.')
            : wordsFor(ways, providers, { withPasskey, sendsLinks: sends_links })}
        </p>
      </div>
      <OtherWays providers={providers} withPasskey={withPasskey} isAlone={!withKey.value && !hasPassword} />
      {withKey.value ? <SignInForm /> : hasPassword ? <PersonForm /> : <SignInAgain />}
      <button type="button" class="button is-quiet" onClick={() => (withKey.value = !withKey.value)}>
        {withKey.value ? (hasPassword ? t('Use a password') : t('Use no API key')) : t('Use an API key')}
      </button>
      {!withKey.value &&
        ways.includes('link') &&
        (sends_links ? (
          <AskForLink label={hasPassword ? t('Forgot your password?') : t('Get a link by mail')} />
        ) : (
          hasPassword && (
            <p class="muted small">
              {t('Forgot your password? An administrator of your account can make a link for you.')}
            </p>
          )
        ))}
      <LanguageSwitch />
    </SignInFrame>
  );
}

function wordsFor(
  ways: readonly string[],
  providers: readonly Provider[],
  { withPasskey, sendsLinks }: { withPasskey: boolean; sendsLinks: boolean },
): string {
  if (ways.includes('password')) return t('Use your e-mail address and password.');
  if (withPasskey) return t('Use your passkey.');
  if (sendsLinks) return t('Get a link by mail, and open it here.');
  if (ways.includes('link')) return t('Open the link that an administrator of your account has made for you.');
  return providers.length > 0 ? t('Use the sign-in of your company.') : t('People do not sign in here.');
}

interface OtherWaysProps {
  providers: readonly Provider[];
  withPasskey: boolean;
  /** No form follows. */
  isAlone: boolean;
}

/** A passkey, and OpenID providers, which the browser goes to. */
function OtherWays({ providers, withPasskey, isAlone }: OtherWaysProps) {
  if (providers.length === 0 && !withPasskey) return null;
  return (
    <div class="sign-in-providers">
      {providers.map(({ name, title, path }) => (
        <a key={name} class="button" href={`${baseUrl()}${path.slice(1)}`}>
          {t('Sign in with {title}', { title })}
        </a>
      ))}
      {withPasskey && <PasskeyButton />}
      {!isAlone && <p class="muted small">{t('or')}</p>}
    </div>
  );
}

/** What pages have that are seen before somebody has signed in. */
export function SignInFrame({ children }: { children: ComponentChildren }) {
  return (
    <div class="sign-in">
      <div class="sign-in-picture" aria-hidden="true">
        <svg viewBox="0 0 270 100" preserveAspectRatio="xMidYMid meet">
          {BARS.map((height, i) => (
            <rect key={i} x={i * 10 + 2.5} y={50 - height / 2} width="5" height={height} rx="2.5" />
          ))}
        </svg>
      </div>
      <main class="sign-in-main">
        <Brand />
        {children}
      </main>
    </div>
  );
}
