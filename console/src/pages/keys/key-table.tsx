import type { ApiKey } from 'vnotes';

import { Badge } from '../../components/badge';
import { formatAge, formatDate } from '../../format/date';
import { t } from '../../language/texts';
import { may } from '../../session/permissions';
import { isTestKey } from '../../session/session';
import { SCOPES } from './scopes';

const STATUS = {
  active: { tone: 'good', label: 'Active' },
  expired: { tone: 'warn', label: 'Expired' },
  revoked: { tone: 'neutral', label: 'Revoked' },
} as const;

interface Props {
  keys: readonly ApiKey[];
  /** The key of this session. */
  own: ApiKey | undefined;
  onOpen: (key: ApiKey) => void;
  onRevoke: (key: ApiKey) => void;
}

/** A table on a wide page; below that each key is a block of its own. */
export function KeyTable({ keys, own, onOpen, onRevoke }: Props) {
  return (
    <table class="table key-table">
      <thead>
        <tr>
          <th scope="col">{t('Name')}</th>
          <th scope="col">{t('Scopes')}</th>
          <th scope="col">{t('Last used')}</th>
          <th scope="col">{t('Created')}</th>
          <th scope="col">{t('Expires')}</th>
          <th scope="col">
            <span class="visually-hidden">{t('Actions')}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <KeyRow key={key.id} apiKey={key} isOwn={key.id === own?.id} onOpen={onOpen} onRevoke={onRevoke} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  apiKey: ApiKey;
  isOwn: boolean;
  onOpen: (key: ApiKey) => void;
  onRevoke: (key: ApiKey) => void;
}

function KeyRow({ apiKey, isOwn, onOpen, onRevoke }: RowProps) {
  const { name, key_prefix, status, scopes, last_used_at, usage_count, created_at, expires_at } = apiKey;
  return (
    <tr>
      <th scope="row" class="key-name">
        <button type="button" class="key-open" dir="auto" title={t('Show the details')} onClick={() => onOpen(apiKey)}>
          {name}
        </button>
        <span class="key-facts">
          <code class="muted">{key_prefix}…</code>
          <Badge tone={STATUS[status].tone}>{t(STATUS[status].label)}</Badge>
          {isTestKey(key_prefix) && <Badge>{t('Test')}</Badge>}
          {isOwn && <Badge tone="accent">{t('This session')}</Badge>}
        </span>
      </th>
      <td data-label={t('Scopes')}>
        <Scopes scopes={scopes} />
      </td>
      <td data-label={t('Last used')}>
        <span class="key-when">{last_used_at === null ? t('Never') : formatAge(last_used_at)}</span>{' '}
        {usage_count > 0 && (
          <span class="muted small key-when">
            {t('{count, plural, one {# request} other {# requests}}', { count: usage_count })}
          </span>
        )}
      </td>
      <td class="key-when" data-label={t('Created')} title={formatDate(created_at)}>
        {formatAge(created_at)}
      </td>
      <td class="key-when" data-label={t('Expires')}>
        {expires_at === null ? t('Never') : formatDate(expires_at)}
      </td>
      <td class="key-actions">
        {status !== 'revoked' && may('account:write') && (
          <button
            type="button"
            class="button is-danger"
            aria-label={t('Revoke {name}', { name })}
            onClick={() => onRevoke(apiKey)}
          >
            {t('Revoke')}
          </button>
        )}
      </td>
    </tr>
  );
}

function Scopes({ scopes }: Pick<ApiKey, 'scopes'>) {
  if (scopes.length === SCOPES.length) return <>{t('All scopes')}</>;
  return (
    <span class="key-scopes">
      {scopes.map((scope) => (
        <code key={scope}>{scope}</code>
      ))}
    </span>
  );
}
