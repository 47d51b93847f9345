import { useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';

import { Failed } from '../../components/failed';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { Permitted } from '../../components/permitted';
import { toast } from '../../components/toast';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { formatDate } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { t } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { api } from '../../session/api';
import { DeliveryLog } from './deliveries/delivery-log';
import type { Attempt } from './deliveries/outcome';
import { TestOutcome } from './test-outcome';
import { Verifiers } from './verifiers/verifiers';
import { WebhookActions } from './webhook-actions';
import { WebhookBadge } from './webhook-badge';

const backToList = () => ({ href: '/webhooks', label: t('Webhooks') });

export function WebhookDetail({ id }: { id: string }) {
  const loaded = useAsync((signal) => api().webhooks.get(id, { signal }), [id]);
  const changed = useSignal<Webhook | null>(null);
  const webhook = changed.value ?? loaded.value;
  if (webhook) return <Loaded webhook={webhook} onChanged={(next) => (changed.value = next)} />;
  return (
    <div class="stack">
      <PageHeader title={t('Webhook')} back={backToList()} />
      {loaded.error ? (
        <Failed error={loaded.error} onRetry={loaded.reload} />
      ) : (
        <Loading label={t('Loading the webhook…')} />
      )}
    </div>
  );
}

function Loaded({ webhook, onChanged }: { webhook: Webhook; onChanged: (webhook: Webhook) => void }) {
  const attempt = useSignal<Attempt | null>(null);
  const [test, change] = [useSubmit(), useSubmit()];
  const sendTest = () =>
    void test.run(async () => {
      attempt.value = null;
      attempt.value = (await api().webhooks.test(webhook.id)).attempt;
    });
  const setStatus = (status: Webhook['status']) =>
    void change.run(async () => {
      const { url, events } = webhook;
      onChanged(await api().webhooks.update(webhook.id, { url, events, status }));
      toast(status === 'active' ? t('Webhook enabled.') : t('Webhook disabled.'));
    });
  return (
    <div class="stack">
      <PageHeader title={new URL(webhook.url).host} back={backToList()} />
      <Facts webhook={webhook} />
      <Permitted scope="webhooks:write" action="test or change webhooks">
        <WebhookActions
          webhook={webhook}
          testing={test.busy.value}
          changing={change.busy.value}
          onTest={sendTest}
          onStatus={setStatus}
          onChanged={onChanged}
        />
      </Permitted>
      <FormError error={test.error.value ?? change.error.value} />
      {webhook.status === 'disabled' && <DisabledNotice />}
      <div aria-live="polite" class="test-region">
        {test.busy.value && <p class="muted">{t('Sending a test request. Your server has 15 seconds to respond.')}</p>}
        {attempt.value && <TestOutcome attempt={attempt.value} onClose={() => (attempt.value = null)} />}
      </div>
      <DeliveryLog webhook={webhook} />
      <Verifiers />
    </div>
  );
}

function Facts({ webhook: { url, status, events, created_at } }: { webhook: Webhook }) {
  return (
    <dl class="facts webhook-facts">
      <dt>{t('URL')}</dt>
      <dd>
        <bdi dir="ltr" class="webhook-url">
          {url}
        </bdi>
      </dd>
      <dt>{t('Status')}</dt>
      <dd>
        <WebhookBadge status={status} />
      </dd>
      <dt>{t('Events')}</dt>
      <dd class="webhook-events">
        {events.map((event) => (
          <code key={event}>{event}</code>
        ))}
      </dd>
      <dt>{t('Created')}</dt>
      <dd>{formatDate(created_at)}</dd>
    </dl>
  );
}

function DisabledNotice() {
  return (
    <p class="notice is-warn">
      <Icon name="info" />
      <span>
        {t(
          'This webhook is disabled and receives no events. Enable it, then use “Resend” for the events that it missed.',
        )}
      </span>
    </p>
  );
}
