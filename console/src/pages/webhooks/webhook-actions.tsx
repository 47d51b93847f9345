import { useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';

import { Icon } from '../../components/icon';
import { t } from '../../language/texts';
import { DeleteWebhook } from './delete-webhook';
import { EditWebhook } from './edit-webhook';
import { RotateSecret } from './rotate-secret';

interface Props {
  webhook: Webhook;
  testing: boolean;
  changing: boolean;
  onTest: () => void;
  onStatus: (status: Webhook['status']) => void;
  onChanged: (webhook: Webhook) => void;
}

type Opened = 'edit' | 'secret' | 'delete' | null;

export function WebhookActions({ webhook, testing, changing, onTest, onStatus, onChanged }: Props) {
  const opened = useSignal<Opened>(null);
  const open = (what: Opened) => () => (opened.value = what);
  const isActive = webhook.status === 'active';
  return (
    <>
      <div class="actions" role="group" aria-label={t('Webhook')}>
        <button type="button" class="button is-primary" disabled={testing} onClick={onTest}>
          <Icon name="webhook" />
          {testing ? t('Sending…') : t('Send test')}
        </button>
        <button type="button" class="button" onClick={open('edit')}>
          {t('Edit')}
        </button>
        <button
          type="button"
          class="button"
          disabled={changing}
          onClick={() => onStatus(isActive ? 'disabled' : 'active')}
        >
          {isActive ? t('Disable') : t('Enable')}
        </button>
        <button type="button" class="button" onClick={open('secret')}>
          {t('Change secret')}
        </button>
        <button type="button" class="button is-danger" onClick={open('delete')}>
          {t('Delete')}
        </button>
      </div>
      <EditWebhook webhook={webhook} open={opened.value === 'edit'} onClose={open(null)} onChanged={onChanged} />
      <RotateSecret webhook={webhook} open={opened.value === 'secret'} onClose={open(null)} />
      <DeleteWebhook webhook={webhook} open={opened.value === 'delete'} onClose={open(null)} />
    </>
  );
}
