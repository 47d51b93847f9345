import { useSignal } from '@preact/signals';

import { Field } from '../../components/field';
import { fieldError, formError } from '../../forms/field-errors';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { rich, t } from '../../language/texts';
import { ask } from '../../session/ask';

/** A link by mail, for who has forgotten the password or has none. The answer is the same for every address. */
export function AskForLink({ label }: { label: string }) {
  const [isOpen, email, sentTo] = [useSignal(false), useSignal(''), useSignal<string | null>(null)];
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const address = email.value.trim();
      await ask('POST', 'sign-in-links', { email: address });
      sentTo.value = address;
    });
  };
  if (sentTo.value !== null)
    return (
      <p class="small" role="status">
        {rich(
          'If {address} belongs to somebody here, a mail with a link is on its way. It works once, within an hour. People of several accounts get none: ask the operator of this service.',
          { address: <strong dir="auto">{sentTo.value}</strong> },
        )}
      </p>
    );
  if (!isOpen.value)
    return (
      <button type="button" class="button is-quiet" onClick={() => (isOpen.value = true)}>
        {label}
      </button>
    );
  return (
    <form class="form" onSubmit={submit}>
      <Field label={t('Send a link to')} error={fieldError(error.value, 'email')}>
        <input
          type="email"
          autocomplete="email"
          required
          maxLength={254}
          onInput={(event: InputEvent) => (email.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <FormError error={formError(error.value, ['email'])} />
      <button type="submit" class="button" disabled={busy.value}>
        {busy.value ? t('Sending…') : t('Send the link')}
      </button>
    </form>
  );
}
