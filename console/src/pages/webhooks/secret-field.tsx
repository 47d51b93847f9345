import type { Signal } from '@preact/signals';

import { Field } from '../../components/field';
import { fieldError } from '../../forms/field-errors';

interface Props {
  label: string;
  hint: string;
  secret: Signal<string>;
  error: unknown;
}

/** A secret of the person's own, by which requests are signed. */
export function SecretField({ label, hint, secret, error }: Props) {
  return (
    <Field label={label} hint={hint} error={fieldError(error, 'secret')}>
      <input
        minLength={16}
        maxLength={256}
        autocomplete="off"
        spellcheck={false}
        value={secret.value}
        onInput={(event) => (secret.value = event.currentTarget.value)}
      />
    </Field>
  );
}
