import { Field } from '../components/field';
import { t } from '../language/texts';

interface Props {
  label?: string;
  value: string;
  error: string | undefined;
  onInput: (password: string) => void;
}

/** A password that is chosen, as the service takes it. */
export function NewPassword({ label = t('Password'), value, error, onInput }: Props) {
  return (
    <Field label={label} hint={t('At least 12 characters: several words are best.')} error={error}>
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
