import { type Signal, useSignal } from '@preact/signals';
import type { ApiKey, VoiceNotes } from 'vnotes';

import { Empty } from '../../components/empty';
import { Failed } from '../../components/failed';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { Permitted } from '../../components/permitted';
import { Pager } from '../../components/pager/pager';
import { type Async, useAsync } from '../../hooks/use-async';
import { t } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { api } from '../../session/api';
import { may } from '../../session/permissions';
import { currentKey } from '../../session/session';
import { AccessTokens } from './access-tokens';
import { CreateKey } from './create-key';
import { KeyDetails } from './key-details';
import { KeyTable } from './key-table';
import { RevokeKey } from './revoke-key';
import './keys.css';

const PAGE_SIZE = 50;

type ApiKeyPage = Awaited<ReturnType<VoiceNotes['keys']['list']>>;
type Shown = ApiKey['status'] | 'test' | '';

export default function KeysPage() {
  const shown = useSignal<Shown>('');
  const page = useSignal(0);
  const creating = useSignal(false);
  const revoking = useSignal<ApiKey | null>(null);
  const keys = useAsync(
    (signal) => api().keys.list({ page: page.value, limit: PAGE_SIZE, ...filterOf(shown.value) }, { signal }),
    [page.value, shown.value],
  );
  const own = keys.value?.api_keys.find(({ key_prefix }) => currentKey.value?.startsWith(key_prefix));
  const filter = (next: Shown) => {
    page.value = 0;
    shown.value = next;
  };
  return (
    <div class="stack">
      <PageHeader
        title={t('Keys')}
        hint={t('API keys let your programs use the API. A key can do only what its scopes allow.')}
        actions={
          <Permitted scope="account:write" action="create or revoke keys">
            <button type="button" class="button is-primary" onClick={() => (creating.value = true)}>
              <Icon name="plus" />
              {t('New key')}
            </button>
          </Permitted>
        }
      />
      <section class="card" aria-labelledby="keys-title">
        <header class="card-header">
          <h2 id="keys-title">{t('API keys')}</h2>
          <StatusFilter shown={shown.value} onChange={filter} />
        </header>
        <KeyList keys={keys} own={own} page={page} onRevoke={(key) => (revoking.value = key)} />
      </section>
      {may('account:write') && <AccessTokens />}
      <CreateKey own={own} open={creating.value} onClose={() => (creating.value = false)} onCreated={keys.reload} />
      <RevokeKey apiKey={revoking.value} own={own} onClose={() => (revoking.value = null)} onRevoked={keys.reload} />
    </div>
  );
}

/** A live key sees its own kind unless it asks for test keys. */
function filterOf(shown: Shown) {
  if (shown === 'test') return { mode: shown };
  return shown === '' ? {} : { status: shown };
}

interface KeyListProps {
  keys: Async<ApiKeyPage>;
  own: ApiKey | undefined;
  page: Signal<number>;
  onRevoke: (key: ApiKey) => void;
}

function KeyList({ keys, own, page, onRevoke }: KeyListProps) {
  const opened = useSignal<ApiKey | null>(null);
  if (keys.error) return <Failed error={keys.error} onRetry={keys.reload} />;
  if (!keys.value) return <Loading label={t('Loading keys…')} />;
  const { api_keys, total } = keys.value;
  if (total === 0) return <Empty icon="key" title={t('No matching keys')} hint={t('No key has this status.')} />;
  return (
    <>
      <KeyTable keys={api_keys} own={own} onOpen={(key) => (opened.value = key)} onRevoke={onRevoke} />
      <KeyDetails apiKey={opened.value} keys={api_keys} onClose={() => (opened.value = null)} />
      {total > PAGE_SIZE && (
        <div class="card-body">
          <Pager page={page.value} total={total} pageSize={PAGE_SIZE} onPage={(next) => (page.value = next)} />
        </div>
      )}
    </>
  );
}

function StatusFilter({ shown, onChange }: { shown: Shown; onChange: (shown: Shown) => void }) {
  return (
    <select
      class="input key-filter"
      aria-label={t('Status of the keys')}
      value={shown}
      onChange={(event) => onChange(event.currentTarget.value as Shown)}
    >
      <option value="">{t('Active and expired')}</option>
      <option value="active">{t('Active')}</option>
      <option value="expired">{t('Expired')}</option>
      <option value="revoked">{t('Revoked')}</option>
      <option value="test">{t('Test keys')}</option>
    </select>
  );
}
