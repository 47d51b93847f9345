import { useSignal } from '@preact/signals';
import type { CreatedInvitation } from 'vnotes';

import { Field } from '../../components/field';
import { fieldError, formError } from '../../forms/field-errors';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { ask } from '../../session/ask';
import { mayGive, ROLES, type Role } from './roles';

interface Props {
  onClose: () => void;
  onCreated: (invitation: CreatedInvitation) => void;
}

export function InviteForm({ onClose, onCreated }: Props) {
  const email = useSignal('');
  const role = useSignal<Role>('editor');
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const body = { email: email.value.trim(), role: role.value };
      onCreated(await ask<CreatedInvitation>('POST', 'account/invitations', body));
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <Field label={t('E-mail address')} error={fieldError(error.value, 'email')}>
        <input
          type="email"
          required
          maxLength={254}
          autocomplete="off"
          onInput={(event: InputEvent) => (email.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      <Field
        label={t('Role')}
        hint={ROLES.filter((one) => one.role === role.value).map(({ meaning }) => t(meaning))}
        error={fieldError(error.value, 'role')}
      >
        <select value={role.value} onChange={(event) => (role.value = event.currentTarget.value as Role)}>
          {ROLES.filter((one) => mayGive(one.role)).map((one) => (
            <option key={one.role} value={one.role}>
              {t(one.role)}
            </option>
          ))}
        </select>
      </Field>
      <FormError error={formError(error.value, ['email', 'role'])} />
      <FormActions label={t('Create invitation')} busyLabel={t('Creating…')} isBusy={busy.value} onCancel={onClose} />
    </form>
  );
}
