import { useEffect } from 'preact/hooks';
import { ApiError } from 'vnotes';

import { Fact } from '../../components/fact';
import { Badge } from '../../components/badge';
import { Failed } from '../../components/failed';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { Permitted } from '../../components/permitted';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { formatBytes } from '../../format/bytes';
import { dateOf, formatAge, formatDate } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { rich, t } from '../../language/texts';
import { ask } from '../../session/ask';
import { may } from '../../session/permissions';
import { session } from '../../session/session';
import { archiveUrl, downloadArchive, downloaded } from './archive-download';

interface AccountExport {
  id: string;
  status: 'preparing' | 'ready' | 'failed';
  size_bytes: number | null;
  created_at: string;
  expires_at: string;
}

const EXPORT = 'account/export';
/** Of the operations that prepare and download it. */
const SCOPES = ['account:write', 'recordings:read', 'webhooks:read'] as const;
/** A small account is ready at once; one that has taken an hour does not need to be asked for every second. */
const [SHORTEST_MS, LONGEST_MS, SHARE_OF_AGE] = [1500, 20_000, 0.1];

/** The one export that an account has at a time: prepared by the service, kept for a day. */
export function ExportCard() {
  const loaded = useAsync(findExport, []);
  const { busy, error, run } = useSubmit();
  const found = loaded.value;
  usePolling(found ?? null, loaded.loading, loaded.reload);
  const prepare = () =>
    void run(async () => {
      try {
        await ask('POST', EXPORT);
      } finally {
        loaded.reload();
      }
    });
  return (
    <section class="card" aria-labelledby="export-title">
      <header class="card-header">
        <h2 id="export-title">{t('Export')}</h2>
        <span role="status">{found && <State status={found.status} />}</span>
      </header>
      <div class="card-body export">
        <p>
          {t(
            'One tar file of all that the account has at that moment: audio, texts in every form, webhooks, events and the audit log.',
          )}
        </p>
        {loaded.error ? (
          <Failed error={loaded.error} onRetry={loaded.reload} />
        ) : found === undefined ? (
          <Loading label={t('Loading the export…')} />
        ) : (
          <>
            {found && <Details found={found} />}
            <FormError error={error.value} />
            <Permitted scope={SCOPES.find((scope) => !may(scope)) ?? 'account:write'} action="export the account">
              <div class="form-actions">
                <button
                  type="button"
                  class="button"
                  disabled={busy.value || found?.status === 'preparing'}
                  onClick={prepare}
                >
                  {labelOf(found)}
                </button>
                {found?.status === 'ready' && <Download />}
              </div>
            </Permitted>
          </>
        )}
      </div>
    </section>
  );
}

function labelOf(found: AccountExport | null): string {
  if (found?.status === 'preparing') return t('Preparing…');
  return found?.status === 'ready' ? t('Prepare another') : t('Prepare an export');
}

/** @returns null without one */
async function findExport(): Promise<AccountExport | null> {
  try {
    return await ask<AccountExport>('GET', EXPORT);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Looks again while the export is prepared and somebody looks at the page, and when its time is over. */
function usePolling(found: AccountExport | null, isLoading: boolean, reload: () => void): void {
  useEffect(() => {
    if (!found || isLoading) return undefined;
    const [now, begun, end] = [Date.now(), dateOf(found.created_at).getTime(), dateOf(found.expires_at).getTime()];
    const pause = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (now - begun) * SHARE_OF_AGE));
    const wait = found.status === 'preparing' ? pause : Math.max(end - now, LONGEST_MS);
    let timer = 0;
    const look = () => {
      if (document.visibilityState === 'hidden') timer = window.setTimeout(look, LONGEST_MS);
      else reload();
    };
    timer = window.setTimeout(look, wait);
    return () => clearTimeout(timer);
  }, [found, isLoading]);
}

function State({ status }: Pick<AccountExport, 'status'>) {
  if (status === 'preparing') return <Badge tone="busy">{t('Preparing')}</Badge>;
  return status === 'ready' ? <Badge tone="good">{t('Ready')}</Badge> : <Badge tone="bad">{t('Failed')}</Badge>;
}

function Details({ found }: { found: AccountExport }) {
  const { id, status, size_bytes, created_at, expires_at } = found;
  if (status === 'failed') {
    return (
      <div class="notice is-bad" role="alert">
        <Icon name="alert" />
        <p>
          {rich(
            '<b>This export failed.</b> The service was restarted meanwhile, or its storage did not answer. Prepare another. If that fails too, tell the operator of the service its ID: {id}',
            { b: (words) => <strong>{words}</strong>, id: <code>{id}</code> },
          )}
        </p>
      </div>
    );
  }
  if (status === 'preparing') {
    return (
      <p class="muted">
        {t('Asked for {age}. A large account takes minutes. You can leave this page meanwhile.', {
          age: formatAge(created_at),
        })}
      </p>
    );
  }
  return (
    <>
      <dl class="facts">
        <Fact name="Size">{formatBytes(size_bytes ?? 0)}</Fact>
        <Fact name="As of">{formatDate(created_at)}</Fact>
        <Fact name="Kept until">{formatDate(expires_at)}</Fact>
      </dl>
      <p class="muted small">{t('Anyone who has the file can read all of it. A new export replaces this one.')}</p>
    </>
  );
}

/** A link, for a browser that has the cookie of a session; it also resumes the download. */
function Download() {
  const part = downloaded.value;
  if (session.value) {
    return (
      <a class="button is-primary" href={archiveUrl()} download>
        <Icon name="download" />
        {t('Download')}
      </a>
    );
  }
  return (
    <button type="button" class="button is-primary" disabled={part !== null} onClick={downloadArchive}>
      <Icon name="download" />
      {part === null ? t('Download') : t('Downloading… {percent} %', { percent: Math.floor(part * 100) })}
    </button>
  );
}
