import type { Webhook } from 'vnotes';
import { useLocation } from 'wouter-preact';

import { Dialog } from '../../components/dialog';
import { toast } from '../../components/toast';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { api } from '../../session/api';

interface Props {
  webhook: Webhook;
  open: boolean;
  onClose: () => void;
}

export function DeleteWebhook({ webhook, open, onClose }: Props) {
  const [, navigate] = useLocation();
  const { busy, error, run } = useSubmit();
  const remove = () =>
    void run(async () => {
      await api().webhooks.delete(webhook.id);
      toast(t('Webhook deleted.'));
      navigate('/webhooks');
    });
  return (
    <Dialog open={open} title={t('Delete this webhook?')} onClose={onClose}>
      <div class="form">
        <p class="webhook-url">
          <bdi dir="ltr">{webhook.url}</bdi>
        </p>
        <p>
          {t(
            'Pending deliveries and the delivery log are deleted. Recordings and events are kept. To pause deliveries, disable the webhook instead.',
          )}
        </p>
        <FormError error={error.value} />
        <FormActions
          label={t('Delete webhook')}
          busyLabel={t('Deleting…')}
          isBusy={busy.value}
          isDanger

          onCancel={onClose}
          onConfirm={remove}
        />
      </div>
    </Dialog>
  );
}
