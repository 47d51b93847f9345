import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiError, VoiceNotes } from 'vnotes';

import { describeError } from '../../components/describe-error';
import { Field } from '../../components/field';
import { Icon } from '../../components/icon';
import { t } from '../../language/texts';
import { baseUrl, scopesOf, signIn, signInReason } from '../../session/session';
import type { Credentials } from '../../session/stored-credentials';

export function SignInForm() {
  const [key, secret, remember] = [useSignal(''), useSignal(''), useSignal(false)];
  const { busy, error, wait, submit } = useSignInCheck();
  const send = (event?: Event) => {
    event?.preventDefault();
    void submit({ key: key.value.trim(), secret: secret.value.trim() }, remember.value);
  };
  return (
    <form class="form" onSubmit={send}>
      <Problem error={error} wait={wait} />
      <Field label={t('API key')}>
        <input
          id="key"
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          required
          onInput={(event: InputEvent) => (key.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <Field label={t('API secret')}>
        <input
          id="secret"
          type="password"
          autocomplete="current-password"
          required
          onInput={(event: InputEvent) => (secret.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <RememberChoice checked={remember.value} onChange={(checked) => (remember.value = checked)} />
      <button type="submit" class="button is-primary" aria-disabled={busy || wait > 0} disabled={busy}>
        {busy ? t('Checking…') : wait > 0 ? t('Try again in {wait} s', { wait }) : t('Sign in')}
      </button>
    </form>
  );
}

function RememberChoice({ checked, onChange }: { checked: boolean; onChange: (checked: boolean) => void }) {
  return (
    <div class="sign-in-remember">
      <label class="check">
        <input
          type="checkbox"
          checked={checked}
          aria-describedby="remember-hint"
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        {t('Stay signed in on this device')}
      </label>
      <p id="remember-hint" class="muted small">
        {checked
          ? t(
              'The secret is stored in this browser until you sign out. Anyone who uses this browser can use the account.',
            )
          : t('Otherwise you are signed out when you reload or close this tab.')}
      </p>
    </div>
  );
}

function Problem({ error, wait }: { error: unknown; wait: number }) {
  const words = error === null ? null : wordsOf(error);
  const text = words ?? (signInReason.value ? { title: t('Sign in again'), hint: signInReason.value } : null);
  return (
    <div role="alert">
      {text && (
        <p class={words ? 'notice is-bad' : 'notice is-warn'}>
          <Icon name={words ? 'alert' : 'info'} />
          <span>
            <strong>{text.title}.</strong> {text.hint}
            {wait > 0 && ` ${t('Trying again automatically.')}`}
          </span>
        </p>
      )}
    </div>
  );
}

function wordsOf(error: unknown): { title: string; hint: string } {
  if (error instanceof ApiError && error.status === 401)
    return {
      title: t('This secret does not belong to this key'),
      hint: t('Copy both again in full. Revoked and expired keys do not work.'),
    };
  return describeError(error);
}

/** One request tells whether they are right. What the key may not read does not matter here. @returns what it may do */
async function check(pair: Credentials): Promise<string[] | null> {
  let scopes: string[] | null = null;
  const onResponse = ({ headers }: Response) => void (scopes = scopesOf(headers));
  const api = new VoiceNotes({ baseUrl: baseUrl(), ...pair, maxRetries: 0, onResponse });
  try {
    await api.account.get();
  } catch (error) {
    if (!(error instanceof ApiError && error.type === 'PermissionError')) throw error;
  }
  return scopes;
}

function useSignInCheck() {
  const busy = useSignal(false);
  const error = useSignal<unknown>(null);
  const retryAt = useSignal(0);
  const wait = useSignal(0);
  const last = useSignal<(() => Promise<void>) | null>(null);
  const submit = async (pair: Credentials, remember: boolean) => {
    if (busy.value || wait.value > 0) return;
    last.value = () => submit(pair, remember);
    busy.value = true;
    try {
      const scopes = await check(pair);
      signIn(pair, { remember, scopes });
    } catch (caught) {
      error.value = caught;
      const seconds = describeError(caught).retryInSeconds ?? 0;
      wait.value = seconds;
      retryAt.value = seconds > 0 ? Date.now() + seconds * 1000 : 0;
    } finally {
      busy.value = false;
    }
  };
  useEffect(() => {
    if (retryAt.value === 0) return undefined;
    const timer = setInterval(() => {
      wait.value = Math.max(0, Math.ceil((retryAt.value - Date.now()) / 1000));
      if (wait.value > 0) return;
      clearInterval(timer);
      void last.value?.();
    }, 250);
    return () => clearInterval(timer);
  }, [retryAt.value]);
  return { busy: busy.value, error: error.value, wait: wait.value, submit };
}
