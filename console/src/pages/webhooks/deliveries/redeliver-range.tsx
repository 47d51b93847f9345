import { type Signal, useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';

import { Dialog } from '../../../components/dialog';
import { Field } from '../../../components/field';
import { FormActions } from '../../../forms/form-actions';
import { FormError } from '../../../forms/form-error';
import { fieldError, formError } from '../../../forms/field-errors';
import { useSubmit } from '../../../forms/use-submit';
import { useAsync } from '../../../hooks/use-async';
import { t, type Text } from '../../../language/texts';
import { api } from '../../../session/api';
import '../../../forms/choices.css';

type Which = '' | 'failed' | 'missed' | 'delivered';

const WHICH: readonly { value: Which; label: Text }[] = [
  { value: '', label: 'Everything that was not delivered' },
  { value: 'failed', label: 'Failed deliveries' },
  { value: 'missed', label: 'Events missed while disabled' },
  { value: 'delivered', label: 'Successful deliveries' },
];

interface Props {
  webhook: Webhook;
  open: boolean;
  onClose: () => void;
  onSent: () => void;
}

/** Sends many events again: of a range of days, or all. */
export function RedeliverRange({ webhook, open, onClose, onSent }: Props) {
  return (
    <Dialog open={open} title={t('Resend events')} onClose={onClose}>
      {open && <RangeForm webhook={webhook} onClose={onClose} onSent={onSent} />}
    </Dialog>
  );
}

function RangeForm({ webhook, onClose, onSent }: Omit<Props, 'open'>) {
  const which = useSignal<Which>('');
  const [from, to] = [useSignal(''), useSignal('')];
  const sent = useSignal<number | null>(null);
  const { busy, error, run } = useSubmit();
  const range = { ...(from.value && { date_from: from.value }), ...(to.value && { date_to: to.value }) };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const fields = { ...range, ...(which.value && { status: which.value }) };
      sent.value = (await api().webhooks.redeliverMany(webhook.id, fields)).count;
      onSent();
    });
  };
  if (sent.value !== null) return <Sent count={sent.value} onClose={onClose} />;
  const rest = formError(error.value, ['date_from', 'date_to']);
  return (
    <form class="form" onSubmit={submit}>
      <WhichField which={which} />
      <div class="form-pair">
        <Field label={t('From (UTC)')} error={fieldError(error.value, 'date_from')}>
          <input
            type="date"
            max={to.value || undefined}
            onChange={(event) => (from.value = event.currentTarget.value)}
          />
        </Field>
        <Field label={t('To (UTC)')} error={fieldError(error.value, 'date_to')}>
          <input
            type="date"
            min={from.value || undefined}
            onChange={(event) => (to.value = event.currentTarget.value)}
          />
        </Field>
      </div>
      <Preview webhook={webhook} which={which.value} from={from.value} to={to.value} />
      {webhook.status === 'disabled' && <p class="notice is-warn">{t('The webhook is disabled. Enable it first.')}</p>}
      <FormError error={rest} />
      <FormActions
        label={t('Resend')}
        busyLabel={t('Starting…')}
        isBusy={busy.value}
        isDisabled={webhook.status === 'disabled'}
        onCancel={onClose}
      />
    </form>
  );
}

function WhichField({ which }: { which: Signal<Which> }) {
  return (
    <Field label={t('Events')}>
      <select value={which.value} onChange={(event) => (which.value = event.currentTarget.value as Which)}>
        {WHICH.map(({ value, label }) => (
          <option key={value} value={value}>
            {t(label)}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface PreviewProps {
  webhook: Webhook;
  which: Which;
  from: string;
  to: string;
}

/** How many deliveries of the log are meant. Missed events are in no list: the answer counts them. */
function Preview({ webhook, which, from, to }: PreviewProps) {
  const status = which === 'delivered' ? 'delivered' : 'failed';
  const range = { ...(from && { date_from: from }), ...(to && { date_to: to }) };
  const counted = useAsync(
    async (signal) =>
      which === 'missed'
        ? null
        : (await api().webhooks.deliveries(webhook.id, { status, limit: 1, ...range }, { signal })).total,
    [webhook.id, which, from, to],
  );
  return (
    <p class="muted small" role="status">
      {which === 'missed'
        ? t('Missed events are counted when they are resent.')
        : previewOf(counted.value ?? null, which)}
    </p>
  );
}

function previewOf(count: number | null, which: Which): string {
  if (count === null) return t('Counting…');
  if (which === 'delivered') return t('{count, number} delivered in this period.', { count });
  return which === 'failed'
    ? t('{count, number} failed in this period.', { count })
    : t('{count, number} failed in this period, plus any events missed while the webhook was disabled.', { count });
}

function Sent({ count, onClose }: { count: number; onClose: () => void }) {
  return (
    <div class="form">
      <p role="status">
        {count === 0
          ? t('There was nothing to resend in this period.')
          : t(
              '{count, plural, one {# event is} other {# events are}} being resent. They appear in the log as they are sent.',
              { count },
            )}
      </p>
      <div class="form-actions">
        <button type="button" class="button is-primary" onClick={onClose}>
          {t('Done')}
        </button>
      </div>
    </div>
  );
}
