import { useSignal } from '@preact/signals';

import { Dialog } from '../../components/dialog';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { fieldError, formError } from '../../forms/field-errors';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { ShownOnce } from '../../secrets/shown-once';
import { api } from '../../session/api';
import type { EventKind } from './event-kinds';
import { SecretField } from './secret-field';
import { WebhookFields } from './webhook-fields';
import '../../forms/choices.css';

interface Props {
  open: boolean;
  onClose: () => void;
  onCreated: () => void;
}

/** The form, and afterwards the secret. */
export function CreateWebhook({ open, onClose, onCreated }: Props) {
  const secret = useSignal<string | null>(null);
  const created = (shown: string) => {
    secret.value = shown;
    onClose();
    onCreated();
  };
  if (secret.value !== null) {
    return (
      <ShownOnce
        title={t('Webhook created')}
        hint={t('Every request is signed with this secret. Your server needs it to verify the signature.')}
        secrets={[{ label: t('Secret'), value: secret.value }]}
        onDone={() => (secret.value = null)}
      />
    );
  }
  return (
    <Dialog open={open} title={t('New webhook')} onClose={onClose}>
      {open && <CreateForm onCreated={created} onClose={onClose} />}
    </Dialog>
  );
}

function CreateForm({ onCreated, onClose }: { onCreated: (secret: string) => void; onClose: () => void }) {
  const url = useSignal('');
  const events = useSignal<EventKind[]>(['recording.transcribed', 'recording.failed']);
  const secret = useSignal('');
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    if (events.value.length === 0) return;
    void run(async () => {
      const fields = { url: url.value.trim(), events: events.value, ...(secret.value && { secret: secret.value }) };
      onCreated((await api().webhooks.create(fields)).secret);
    });
  };
  const rest = formError(error.value, ['url', 'events', 'secret']);
  return (
    <form class="form" onSubmit={submit}>
      <WebhookFields url={url} events={events} error={error.value} />
      <details class="form-more" open={fieldError(error.value, 'secret') !== undefined}>
        <summary>{t('Use your own secret')}</summary>
        <SecretField
          label={t('Secret')}
          hint={t('16 to 256 printable characters. Leave empty to generate one, which is safer.')}
          secret={secret}
          error={error.value}
        />
      </details>
      <FormError error={rest} />
      <FormActions
        label={t('Create webhook')}
        busyLabel={t('Creating…')}
        isBusy={busy.value}
        isDisabled={events.value.length === 0}
        onCancel={onClose}
      />
    </form>
  );
}
