import { ApiError } from 'vnotes';

import { Icon } from '../../components/icon';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { signInWithPasskey } from '../../session/passkeys';
import { signInPerson } from '../../session/session';

/** The browser asks for one of the passkeys that it has for this address. */
export function PasskeyButton() {
  const { busy, error, run } = useSubmit();
  const isRefused = error.value instanceof ApiError && error.value.status === 401;
  const signIn = () =>
    void run(async () => {
      const begun = await signInWithPasskey();
      if (begun) signInPerson(begun);
    });
  return (
    <>
      <button type="button" class="button" disabled={busy.value} onClick={signIn}>
        <Icon name="key" />
        {busy.value ? t('Waiting for your passkey…') : t('Sign in with a passkey')}
      </button>
      {isRefused ? (
        <p class="notice is-bad" role="alert">
          <Icon name="alert" />
          <span>
            <strong>{t('This passkey does not sign in here.')}</strong>{' '}
            {t('It may have been removed. Use another way.')}
          </span>
        </p>
      ) : (
        <FormError error={error.value} />
      )}
    </>
  );
}
