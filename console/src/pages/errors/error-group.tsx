import { Badge } from '../../components/badge';
import { CopyButton } from '../../components/copy-button';
import { ExpandableRow } from '../../components/expandable-row/expandable-row';
import { Icon } from '../../components/icon';
import { formatAge, formatDate } from '../../format/date';
import { rich, t } from '../../language/texts';
import { errorAdvice, type RequestError } from './error-advice';

/** Refusals of one kind: a line, which opens to what to do and the ids of the last requests. */
export function ErrorGroup({ group }: { group: RequestError }) {
  return (
    <ExpandableRow
      class="error-line"
      line={
        <>
          <Badge tone={group.status >= 500 ? 'bad' : 'warn'}>{group.status}</Badge>
          <code class="error-operation">{group.operation}</code>
          <span class="error-count numbers">
            {t('{count, plural, one {once} other {# times}}', { count: group.count })}
          </span>
          <time class="error-time muted small" dateTime={`${group.last_at}Z`} title={formatDate(group.last_at)}>
            {formatAge(group.last_at)}
          </time>
          <span class="error-message" dir="auto">
            {group.message}
          </span>
        </>
      }
    >
      <Detail group={group} />
    </ExpandableRow>
  );
}

function Detail({ group }: { group: RequestError }) {
  return (
    <>
      <p class="notice">
        <Icon name="info" />
        <span>{errorAdvice(group)}</span>
      </p>
      <dl class="facts">
        <dt>{t('Type')}</dt>
        <dd>{rich('{type}, code {code}', { type: <code>{group.type}</code>, code: <code>{group.code}</code> })}</dd>
        {group.field !== null && (
          <>
            <dt>{t('Field')}</dt>
            <dd>
              <code dir="auto">{group.field}</code>
            </dd>
          </>
        )}
        <dt>{t('First seen')}</dt>
        <dd>{formatDate(group.first_at)}</dd>
        <dt>{t('Last seen')}</dt>
        <dd>{formatDate(group.last_at)}</dd>
        <dt>{t('Request IDs')}</dt>
        <dd>
          <ul class="request-ids">
            {group.request_ids.map((requestId) => (
              <li key={requestId}>
                <code>{requestId}</code>
                <CopyButton text={requestId} label={t('Copy request ID {id}', { id: requestId })} iconOnly />
              </li>
            ))}
          </ul>
        </dd>
      </dl>
    </>
  );
}
