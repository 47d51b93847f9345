import { Field } from '../components/field';

interface Props {
  label?: string;
  value: string;
  error: string | undefined;
  onInput: (password: string) => void;
}

/** A password that is chosen, as the service takes it. */
export function NewPassword({ label = 'Password', value, error, onInput }: Props) {
  return (
    <Field label={label} hint="At least 12 characters: several words are best." error={error}>
      <input
        type="password"
        autocomplete="new-password"
        required
        minLength={12}
        maxLength={200}
        value={value}
        onInput={(event: InputEvent) => onInput((event.currentTarget as HTMLInputElement).value)}
      />
    </Field>
  );
}
