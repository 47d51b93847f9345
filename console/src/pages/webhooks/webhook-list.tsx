import { useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';
import { Link } from 'wouter-preact';

import { Empty } from '../../components/empty';
import { Failed } from '../../components/failed';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { Permitted } from '../../components/permitted';
import { formatAge } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { t } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { api } from '../../session/api';
import { CreateWebhook } from './create-webhook';
import { WebhookBadge } from './webhook-badge';

/** The service allows fewer webhooks than a page holds. */
const PAGE_SIZE = 100;

export function WebhookList() {
  const creating = useSignal(false);
  const webhooks = useAsync(
    async (signal) => (await api().webhooks.list({ limit: PAGE_SIZE }, { signal })).webhooks,
    [],
  );
  const isEmpty = webhooks.value?.length === 0;
  return (
    <div class="stack">
      <PageHeader
        title={t('Webhooks')}
        hint={t('Webhooks send your server a signed request when a recording is done.')}
        actions={
          <Permitted scope="webhooks:write" action="create or change webhooks">
            <button type="button" class="button is-primary" onClick={() => (creating.value = true)}>
              <Icon name="plus" />
              {t('New webhook')}
            </button>
          </Permitted>
        }
      />
      {Boolean(webhooks.error) && <Failed error={webhooks.error} onRetry={webhooks.reload} />}
      {!webhooks.value && webhooks.loading && <Loading label={t('Loading webhooks…')} />}
      {isEmpty && (
        <Empty
          icon="webhook"
          title={t('No webhooks yet')}
          hint={t('Add the URL of your server, then send a test request to see whether it arrives.')}
        />
      )}
      {webhooks.value && !isEmpty && <Webhooks webhooks={webhooks.value} />}
      <CreateWebhook open={creating.value} onClose={() => (creating.value = false)} onCreated={webhooks.reload} />
    </div>
  );
}

function Webhooks({ webhooks }: { webhooks: readonly Webhook[] }) {
  return (
    <ul class="card webhook-list">
      {webhooks.map((webhook) => (
        <li key={webhook.id}>
          <Link href={`/webhooks/${webhook.id}`} class="webhook-line">
            <bdi dir="ltr" class="webhook-url">
              {webhook.url}
            </bdi>
            <WebhookBadge status={webhook.status} />
            <span class="webhook-line-facts muted small">
              {t('{events} · created {age}', {
                events: webhook.events.join(' · '),
                age: formatAge(webhook.created_at),
              })}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
