import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Session } from 'vnotes';

import { Failed } from '../../components/failed';
import { Field } from '../../components/field';
import { Loading } from '../../components/loading';
import { toast } from '../../components/toast';
import { fieldError, formError } from '../../forms/field-errors';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { formatAge, formatDate } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { t } from '../../language/texts';
import { ask } from '../../session/ask';
import { addPasskey, hasPasskeys, type Passkey } from '../../session/passkeys';
import './passkeys.css';

/** The passkeys of the person. Those of other devices are shown in a browser that has none, too. */
export function Passkeys({ own }: { own: Session }) {
  const found = useAsync(() => ask<{ passkeys: Passkey[] }>('GET', 'session/passkeys'), []);
  return (
    <section class="card" aria-labelledby="passkeys-title">
      <header class="card-header">
        <h2 id="passkeys-title">{t('Passkeys')}</h2>
      </header>
      {found.error ? (
        <Failed error={found.error} onRetry={found.reload} />
      ) : !found.value ? (
        <Loading label={t('Loading passkeys…')} />
      ) : (
        <ul class="people">
          {found.value.passkeys.map((passkey) => (
            <PasskeyRow key={passkey.id} passkey={passkey} onChanged={found.reload} />
          ))}
        </ul>
      )}
      <div class="card-body">
        {own.began_with === 'link' ? (
          <p class="muted">{t('You signed in with a link. Sign in with your password to add a passkey.')}</p>
        ) : hasPasskeys() ? (
          <AddPasskey onAdded={found.reload} />
        ) : (
          <p class="muted">{t('This browser keeps no passkeys for this address.')}</p>
        )}
      </div>
    </section>
  );
}

function PasskeyRow({ passkey, onChanged }: { passkey: Passkey; onChanged: () => void }) {
  const { busy, error, run } = useSubmit();
  const [name, isRemoving] = [useSignal<string | null>(null), useSignal(false)];
  const [renameButton, input] = [useRef<HTMLButtonElement>(null), useRef<HTMLInputElement>(null)];
  const path = `session/passkeys/${passkey.id}`;
  // When the row is drawn anew, and no request disables it any more.
  const open = () => {
    name.value = passkey.name;
    setTimeout(() => input.current?.focus());
  };
  const close = () => {
    name.value = null;
    setTimeout(() => renameButton.current?.focus());
  };
  const rename = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await ask('PATCH', path, { name: name.value?.trim() });
      onChanged();
      close();
    });
  };
  const remove = () =>
    void run(async () => {
      await ask('DELETE', path);
      toast(t('Passkey removed.'));
      onChanged();
    });
  return (
    <li>
      {name.value === null ? (
        <>
          <span class="people-name" dir="auto">
            {passkey.name}
            <span class="muted small" title={formatDate(passkey.created_at)}>
              {passkey.last_used_at === null
                ? t('Not used yet, added {added}', { added: formatAge(passkey.created_at) })
                : t('Used {used}, added {added}', {
                    used: formatAge(passkey.last_used_at),
                    added: formatAge(passkey.created_at),
                  })}
            </span>
          </span>
          <button
            type="button"
            class="button"
            disabled={busy.value}
            aria-label={t('Rename {name}', { name: passkey.name })}
            ref={renameButton}
            onClick={open}
          >
            {t('Rename')}
          </button>
          <button
            type="button"
            class={isRemoving.value ? 'button is-danger' : 'button'}
            disabled={busy.value}
            aria-label={
              isRemoving.value
                ? t('Remove now: {name}', { name: passkey.name })
                : t('Remove: {name}', { name: passkey.name })
            }
            onClick={() => (isRemoving.value ? remove() : (isRemoving.value = true))}
          >
            {isRemoving.value ? t('Remove now') : t('Remove')}
          </button>
        </>
      ) : (
        <form class="passkey-name" onSubmit={rename}>
          <input
            class="input"
            required
            maxLength={100}
            dir="auto"
            aria-label={t('New name of {name}', { name: passkey.name })}
            ref={input}
            value={name.value}
            onInput={(event: InputEvent) => (name.value = (event.currentTarget as HTMLInputElement).value)}
          />
          <button type="submit" class="button is-primary" disabled={busy.value}>
            {t('Save')}
          </button>
          <button type="button" class="button" onClick={close}>
            {t('Cancel')}
          </button>
        </form>
      )}
      <FormError error={error.value} />
    </li>
  );
}

/** The password is asked for once the service wants it: in a session that has not just begun. */
function AddPasskey({ onAdded }: { onAdded: () => void }) {
  const [name, password, needsPassword] = [useSignal(''), useSignal(''), useSignal(false)];
  const { busy, error, run } = useSubmit();
  const add = async () => {
    try {
      if (!(await addPasskey(name.value.trim(), password.value))) return;
      [name.value, password.value, needsPassword.value] = ['', '', false];
      toast(t('Passkey added.'));
      onAdded();
    } catch (caught) {
      needsPassword.value ||= fieldError(caught, 'current_password') !== undefined;
      if (!(caught instanceof DOMException && caught.name === 'InvalidStateError')) throw caught;
      toast(t('This device has a passkey of yours already.'));
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(add);
  };
  return (
    <form class="form" onSubmit={submit}>
      <Field
        label={t('Name of a new passkey')}
        hint={t('Such as the device on which it is kept. You sign in with it in place of your password.')}
        error={fieldError(error.value, 'name')}
      >
        <input
          required
          maxLength={100}
          dir="auto"
          autocomplete="off"
          value={name.value}
          onInput={(event: InputEvent) => (name.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      {needsPassword.value && (
        <Field label={t('Your password')} error={fieldError(error.value, 'current_password')}>
          <input
            type="password"
            autocomplete="current-password"
            required
            value={password.value}
            onInput={(event: InputEvent) => (password.value = (event.currentTarget as HTMLInputElement).value)}
          />
        </Field>
      )}
      <FormError error={formError(error.value, ['name', 'current_password'])} />
      <div class="form-actions">
        <button type="submit" class="button" disabled={busy.value}>
          {busy.value ? t('Waiting for your device…') : t('Add a passkey')}
        </button>
      </div>
    </form>
  );
}
