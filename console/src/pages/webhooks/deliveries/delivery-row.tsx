import type { Delivery, Webhook } from 'vnotes';

import { Badge } from '../../../components/badge';
import { ExpandableRow } from '../../../components/expandable-row/expandable-row';
import { formatAge, formatDate } from '../../../format/date';
import { t } from '../../../language/texts';
import { DeliveryDetail } from './delivery-detail';
import { lastOutcome, outcomeTitle } from './outcome';

const STATUS = {
  pending: { tone: 'busy', label: 'Pending' },
  delivered: { tone: 'good', label: 'Delivered' },
  failed: { tone: 'bad', label: 'Failed' },
} as const;

interface Props {
  delivery: Delivery;
  webhook: Webhook;
  onRedelivered: () => void;
}

/** A line of the log, which opens to the attempts and the body. */
export function DeliveryRow({ delivery, webhook, onRedelivered }: Props) {
  const { tone, label } = STATUS[delivery.status];
  return (
    <ExpandableRow
      class="delivery-line"
      line={
        <>
          <Badge tone={tone}>{t(label)}</Badge>
          <code class="delivery-event">{delivery.event}</code>
          <span class="delivery-outcome muted small" dir="auto">
            {summaryOf(delivery)}
          </span>
          <time
            class="delivery-time muted small"
            dateTime={`${delivery.created_at}Z`}
            title={formatDate(delivery.created_at)}
          >
            {formatAge(delivery.created_at)}
          </time>
        </>
      }
    >
      <DeliveryDetail delivery={delivery} webhook={webhook} onRedelivered={onRedelivered} />
    </ExpandableRow>
  );
}

function summaryOf(delivery: Delivery): string {
  const { attempts_count: count, last_attempt_at, reason } = delivery;
  if (last_attempt_at === null) return reason ?? t('not sent yet');
  return t('{outcome} · {count, plural, one {# attempt} other {# attempts}}', {
    outcome: outcomeTitle(lastOutcome(delivery)),
    count,
  });
}
