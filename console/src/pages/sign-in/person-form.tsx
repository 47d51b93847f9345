import { useSignal } from '@preact/signals';
import { ApiError, type Session } from 'vnotes';

import { Field } from '../../components/field';
import { Icon } from '../../components/icon';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { ask } from '../../session/ask';
import { signInPerson, signInReason } from '../../session/session';

/** Why somebody is here who had signed in. */
export function SignInAgain() {
  if (!signInReason.value) return null;
  return (
    <p class="notice is-warn">
      <Icon name="info" />
      <span>
        <strong>{t('Sign in again.')}</strong> {signInReason.value}
      </span>
    </p>
  );
}

/** The cookie of the session stays on this device until the person signs out. */
export function PersonForm() {
  const [email, password] = [useSignal(''), useSignal('')];
  const { busy, error, run } = useSubmit();
  const isWrong = error.value instanceof ApiError && error.value.status === 401;
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () =>
      signInPerson(await ask<Session>('POST', 'sessions', { email: email.value.trim(), password: password.value })),
    );
  };
  return (
    <form class="form" onSubmit={submit}>
      <div role="alert">
        {isWrong && (
          <p class="notice is-bad">
            <Icon name="alert" />
            <span>
              <strong>{t('The e-mail address or the password is not right.')}</strong> {t('Check both, and try again.')}
            </span>
          </p>
        )}
        {error.value === null && <SignInAgain />}
      </div>
      {!isWrong && <FormError error={error.value} />}
      <Field label={t('E-mail address')}>
        <input
          id="email"
          type="email"
          autocomplete="username"
          required
          onInput={(event: InputEvent) => (email.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <Field label={t('Password')}>
        <input
          type="password"
          autocomplete="current-password"
          required
          onInput={(event: InputEvent) => (password.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <button type="submit" class="button is-primary" disabled={busy.value}>
        {busy.value ? t('Checking…') : t('Sign in')}
      </button>
    </form>
  );
}
