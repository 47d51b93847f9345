import type { Signal } from '@preact/signals';

import { Field } from '../../components/field';
import { fieldError } from '../../forms/field-errors';

interface Props {
  label: string;
  /** More about the one that is generated. */
  whenEmpty: string;
  secret: Signal<string>;
  error: unknown;
}

/** A secret of the person's own, by which requests are signed. */
export function SecretField({ label, whenEmpty, secret, error }: Props) {
  return (
    <Field
      label={label}
      hint={`16 to 256 printable characters. Leave empty to generate one${whenEmpty}.`}
      error={fieldError(error, 'secret')}
    >
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
