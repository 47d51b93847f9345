import type { ApiKey } from 'vnotes';

import { Dialog } from '../../components/dialog';
import { Failed } from '../../components/failed';
import { Loading } from '../../components/loading';
import { formatDate } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { locale } from '../../language/language';
import { t } from '../../language/texts';
import { api } from '../../session/api';

interface Props {
  /** Null while the dialog is closed. */
  apiKey: ApiKey | null;
  /** Those on the page, of which one may have made it. */
  keys: readonly ApiKey[];
  onClose: () => void;
}

/** What the list has no room for. */
export function KeyDetails({ apiKey, keys, onClose }: Props) {
  return (
    <Dialog open={apiKey !== null} title={t('API key')} onClose={onClose}>
      {apiKey && <Details apiKey={apiKey} keys={keys} />}
    </Dialog>
  );
}

function Details({ apiKey, keys }: { apiKey: ApiKey; keys: readonly ApiKey[] }) {
  const key = useAsync((signal) => api().keys.get(apiKey.id, { signal }), [apiKey.id]);
  if (key.error) return <Failed error={key.error} onRetry={key.reload} />;
  if (!key.value) return <Loading label={t('Loading the key…')} />;
  const { name, description, key_prefix, created_at, created_by, last_used_at, usage_count } = key.value;
  return (
    <dl class="facts key-details">
      <dt>{t('Name')}</dt>
      <dd dir="auto">{name}</dd>
      <dt>{t('Description')}</dt>
      <dd dir="auto">{description ?? t('None')}</dd>
      <dt>{t('Prefix')}</dt>
      <dd>
        <code>{key_prefix}</code>
      </dd>
      <dt>{t('Created by')}</dt>
      <dd dir="auto">{makerOf(created_by, keys)}</dd>
      <dt>{t('Created')}</dt>
      <dd>{formatDate(created_at)}</dd>
      <dt>{t('Last used')}</dt>
      <dd>{last_used_at === null ? t('Never') : formatDate(last_used_at)}</dd>
      <dt>{t('Requests')}</dt>
      <dd>{usage_count.toLocaleString(locale.value)}</dd>
    </dl>
  );
}

function makerOf(createdBy: string | null, keys: readonly ApiKey[]): string {
  if (createdBy === null) return t('The operator of the service');
  const maker = keys.find(({ id }) => id === createdBy);
  return maker
    ? t('The key “{name}” ({prefix}…)', { name: maker.name, prefix: maker.key_prefix })
    : t('The key with the ID {id}', { id: createdBy });
}
