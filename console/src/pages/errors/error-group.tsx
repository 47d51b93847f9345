import { Badge } from '../../components/badge';
import { CopyButton } from '../../components/copy-button';
import { ExpandableRow } from '../../components/expandable-row/expandable-row';
import { Icon } from '../../components/icon';
import { formatAge, formatDate } from '../../format/date';
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
          <span class="error-count numbers">{timesOf(group.count)}</span>
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
        <dt>Type</dt>
        <dd>
          <code>{group.type}</code>, code <code>{group.code}</code>
        </dd>
        {group.field !== null && (
          <>
            <dt>Field</dt>
            <dd>
              <code dir="auto">{group.field}</code>
            </dd>
          </>
        )}
        <dt>First seen</dt>
        <dd>{formatDate(group.first_at)}</dd>
        <dt>Last seen</dt>
        <dd>{formatDate(group.last_at)}</dd>
        <dt>Request IDs</dt>
        <dd>
          <ul class="request-ids">
            {group.request_ids.map((requestId) => (
              <li key={requestId}>
                <code>{requestId}</code>
                <CopyButton text={requestId} label={`Copy request ID ${requestId}`} iconOnly />
              </li>
            ))}
          </ul>
        </dd>
      </dl>
    </>
  );
}

function timesOf(count: number): string {
  return count === 1 ? 'once' : `${count.toLocaleString('en')} times`;
}
