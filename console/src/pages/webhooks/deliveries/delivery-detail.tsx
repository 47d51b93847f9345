import type { Delivery, Webhook } from 'vnotes';
import { Link } from 'wouter-preact';

import { CopyButton } from '../../../components/copy-button';
import { Failed } from '../../../components/failed';
import { Icon } from '../../../components/icon';
import { Loading } from '../../../components/loading';
import { toast } from '../../../components/toast';
import { FormError } from '../../../forms/form-error';
import { useSubmit } from '../../../forms/use-submit';
import { formatDate } from '../../../format/date';
import { useAsync } from '../../../hooks/use-async';
import { t } from '../../../language/texts';
import { api } from '../../../session/api';
import { may } from '../../../session/permissions';
import { AttemptView } from './attempt-view';
import { outcomeAdvice, prettyJson, type Attempt } from './outcome';

interface Props {
  delivery: Delivery;
  webhook: Webhook;
  onRedelivered: () => void;
}

export function DeliveryDetail({ delivery, webhook, onRedelivered }: Props) {
  const single = useAsync(
    (signal) => api().webhooks.delivery(webhook.id, delivery.id, { signal }),
    // Another attempt in the list: the attempts are others as well.
    [delivery.id, delivery.updated_at, delivery.attempts_count],
  );
  return (
    <>
      <Facts delivery={delivery} />
      {Boolean(single.error) && <Failed error={single.error} onRetry={single.reload} />}
      {!single.value && single.loading && <Loading label={t('Loading the delivery…')} />}
      {single.value && (
        <>
          <Attempts attempts={single.value.attempts} delivery={delivery} />
          <Body text={single.value.body} />
        </>
      )}
      {may('webhooks:write') && <Redeliver delivery={delivery} webhook={webhook} onRedelivered={onRedelivered} />}
    </>
  );
}

function Facts({ delivery: { event_id, recording_id, next_attempt_at } }: { delivery: Delivery }) {
  return (
    <dl class="facts">
      <dt>{t('Event ID')}</dt>
      <dd class="delivery-id">
        <code>{event_id}</code>
        <CopyButton text={event_id} label={t('Copy event ID')} iconOnly />
      </dd>
      {recording_id !== null && (
        <>
          <dt>{t('Recording')}</dt>
          <dd>
            <Link href={`/recordings/${recording_id}`}>
              <code>{recording_id}</code>
            </Link>
          </dd>
        </>
      )}
      {next_attempt_at !== null && (
        <>
          <dt>{t('Next attempt')}</dt>
          <dd>{formatDate(next_attempt_at)}</dd>
        </>
      )}
    </dl>
  );
}

function Attempts({ attempts, delivery }: { attempts: readonly Attempt[]; delivery: Delivery }) {
  if (attempts.length === 0) {
    const advice = outcomeAdvice({ status: null, error: null, reason: delivery.reason });
    return <p class="muted">{advice ?? t('No attempt has finished yet.')}</p>;
  }
  return (
    <section class="stack-small">
      <h3>{t('{count, plural, one {# attempt} other {# attempts}}', { count: attempts.length })}</h3>
      <ol class="attempts">
        {attempts.toReversed().map((attempt) => (
          <li key={attempt.number}>
            <AttemptView attempt={attempt} numbered />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Body({ text }: { text: string }) {
  return (
    <section class="stack-small">
      <div class="code-head">
        <h3>{t('Body')}</h3>
        <CopyButton text={text} label={t('Copy body')} />
      </div>
      <pre class="code" tabIndex={0} role="region" aria-label={t('Body')} dir="auto">
        {prettyJson(text)}
      </pre>
    </section>
  );
}

function Redeliver({ delivery, webhook, onRedelivered }: Props) {
  const { busy, error, run } = useSubmit();
  const obstacle = webhook.status === 'disabled' ? t('Enable the webhook first.') : null;
  const isPending = delivery.status === 'pending';
  const send = () =>
    void run(async () => {
      await api().webhooks.redeliver(webhook.id, delivery.id);
      toast(isPending ? t('Sending the event now.') : t('Resending the event.'));
      onRedelivered();
    });
  return (
    <div class="actions">
      <FormError error={error.value} />
      <button type="button" class="button" disabled={busy.value || obstacle !== null} onClick={send}>
        <Icon name="retry" />
        {busy.value ? t('Sending…') : isPending ? t('Send now') : t('Resend')}
      </button>
      {obstacle !== null && <span class="muted">{obstacle}</span>}
    </div>
  );
}
