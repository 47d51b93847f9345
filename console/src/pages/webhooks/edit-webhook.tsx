import { useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';

import { Dialog } from '../../components/dialog';
import { toast } from '../../components/toast';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { formError } from '../../forms/field-errors';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { api } from '../../session/api';
import type { EventKind } from './event-kinds';
import { WebhookFields } from './webhook-fields';

interface Props {
  webhook: Webhook;
  open: boolean;
  onClose: () => void;
  onChanged: (webhook: Webhook) => void;
}

export function EditWebhook({ webhook, open, onClose, onChanged }: Props) {
  return (
    <Dialog open={open} title={t('Edit webhook')} onClose={onClose}>
      {open && <EditForm webhook={webhook} onClose={onClose} onChanged={onChanged} />}
    </Dialog>
  );
}

function EditForm({ webhook, onClose, onChanged }: Omit<Props, 'open'>) {
  const url = useSignal(webhook.url);
  const events = useSignal<EventKind[]>(webhook.events);
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    if (events.value.length === 0) return;
    void run(async () => {
      onChanged(await api().webhooks.update(webhook.id, { url: url.value.trim(), events: events.value }));
      toast(t('Webhook saved.'));
      onClose();
    });
  };
  const rest = formError(error.value, ['url', 'events']);
  return (
    <form class="form" onSubmit={submit}>
      <WebhookFields url={url} events={events} error={error.value} />
      <FormError error={rest} />
      <FormActions
        label={t('Save')}
        busyLabel={t('Saving…')}
        isBusy={busy.value}
        isDisabled={events.value.length === 0}
        onCancel={onClose}
      />
    </form>
  );
}
