import { type Signal, useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';

import { Dialog } from '../../components/dialog';
import { Field } from '../../components/field';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { formError } from '../../forms/field-errors';
import { useSubmit } from '../../forms/use-submit';
import { t, type Text } from '../../language/texts';
import { ShownOnce } from '../../secrets/shown-once';
import { api } from '../../session/api';
import { SecretField } from './secret-field';

const SECRET_BYTES = 32;
/** Hours for which the previous secret signs as well. */
const OVERLAPS = [
  ['24', '24 hours'],
  ['12', '12 hours'],
  ['6', '6 hours'],
  ['1', '1 hour'],
  ['0', 'Do not keep it: the secret has leaked'],
] as const satisfies readonly (readonly [string, Text])[];

interface Props {
  webhook: Webhook;
  open: boolean;
  onClose: () => void;
}

export function RotateSecret({ webhook, open, onClose }: Props) {
  const shown = useSignal<{ secret: string; hours: string } | null>(null);
  const changed = (secret: string, hours: string) => {
    shown.value = { secret, hours };
    onClose();
  };
  if (shown.value) {
    const { secret, hours } = shown.value;
    return (
      <ShownOnce
        title={t('Secret changed')}
        hint={afterChange(hours)}
        secrets={[{ label: t('New secret'), value: secret }]}
        onDone={() => (shown.value = null)}
      />
    );
  }
  return (
    <Dialog open={open} title={t('Change secret')} onClose={onClose}>
      {open && <RotateForm webhook={webhook} onChanged={changed} onClose={onClose} />}
    </Dialog>
  );
}

interface RotateFormProps {
  webhook: Webhook;
  onChanged: (secret: string, hours: string) => void;
  onClose: () => void;
}

function RotateForm({ webhook, onChanged, onClose }: RotateFormProps) {
  const own = useSignal('');
  const hours = useSignal('24');
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const secret = own.value || generateSecret();
      const { url, events } = webhook;
      const overlap = { previous_secret_valid_hours: Number(hours.value) };
      await api().webhooks.update(webhook.id, { url, events, secret, ...overlap });
      onChanged(secret, hours.value);
    });
  };
  const rest = formError(error.value, ['secret', 'previous_secret_valid_hours']);
  return (
    <form class="form" onSubmit={submit}>
      <p>
        {t(
          'Requests are signed with the new secret at once. The previous secret can stay valid for a while, so that your server can switch without rejecting requests.',
        )}
      </p>
      <Overlap hours={hours} />
      <SecretField
        label={t('New secret (optional)')}
        hint={t('16 to 256 printable characters. Leave empty to generate one of 32 random bytes.')}
        secret={own}
        error={error.value}
      />
      <FormError error={rest} />
      <FormActions label={t('Change secret')} busyLabel={t('Changing…')} isBusy={busy.value} onCancel={onClose} />
    </form>
  );
}

function Overlap({ hours }: { hours: Signal<string> }) {
  return (
    <Field label={t('Keep the previous secret valid for')}>
      <select value={hours.value} onChange={(event) => (hours.value = event.currentTarget.value)}>
        {OVERLAPS.map(([value, label]) => (
          <option key={value} value={value}>
            {t(label)}
          </option>
        ))}
      </select>
    </Field>
  );
}

function afterChange(hours: string): string {
  if (hours === '0') return t('The previous secret is no longer used. Update your server now.');
  return t(
    'Update your server within {hours, plural, one {# hour} other {# hours}}. Until then webhook-signature has both signatures. X-Service-Signature uses the new secret already.',
    { hours: Number(hours) },
  );
}

/** As the service makes them: the libraries of Standard Webhooks take what follows the prefix as base64. */
function generateSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
