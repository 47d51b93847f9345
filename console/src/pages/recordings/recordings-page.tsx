import { useSearchParams } from 'wouter-preact';

import { deletedIds } from '../../bulk/deletions';
import { Failed } from '../../components/failed';
import { Pager } from '../../components/pager/pager';
import { t } from '../../language/texts';
import { Filters } from './filters/filters';
import { ListActions } from './list-actions';
import {
  filterOf,
  isByLength,
  isExact,
  isFiltered,
  type ListQuery,
  MAX_BY_LENGTH,
  PAGE_SIZE,
  readQuery,
  writeQuery,
} from './list-query';
import { ListSkeleton } from './list-skeleton';
import { BeingDeleted, NoRecordings } from './no-recordings';
import { RecordingList } from './recording-list';
import { SearchBox } from './search/search-box';
import { SelectionBar } from './selection/selection-bar';
import { useSelection } from './selection/use-selection';
import { type Recordings, useRecordings } from './use-recordings';
import { PageHeader } from '../../layout/page-header';
import { may } from '../../session/permissions';
import './recordings.css';

/** The recordings of the account: live, filtered and searched by what the address says. */
export function RecordingsPage() {
  const [search, setSearch] = useSearchParams();
  const query = readQuery(search);
  const change = (fields: Partial<ListQuery>, { replace = false } = {}) => {
    setSearch(writeQuery({ ...query, page: 0, ...fields }), { replace });
    if (fields.page !== undefined) scrollTo(0, 0);
  };
  const recordings = useRecordings(query);
  return (
    <>
      <PageHeader title={t('Recordings')} actions={<ListActions />} />
      <div class="list-tools">
        <SearchBox q={query.q} onSearch={(q) => change({ q }, { replace: query.q !== '' && q !== '' })} />
        <Filters query={query} onChange={change} />
      </div>
      <Results query={query} recordings={recordings} onChange={change} />
    </>
  );
}

interface ResultsProps {
  query: ListQuery;
  recordings: Recordings;
  onChange: (fields: Partial<ListQuery>) => void;
}

function Results({ query, recordings, onChange }: ResultsProps) {
  const { page, query: answered, error, loading, reload } = recordings;
  const shown = page?.recordings.filter(({ id }) => !deletedIds.value.has(id)) ?? [];
  const selection = useSelection(shown, filterOf(answered));
  if (error !== undefined) {
    return (
      <div class="card">
        <Failed error={error} onRetry={reload} />
      </div>
    );
  }
  if (!page) return <ListSkeleton />;
  const total = Math.max(0, page.total - (page.recordings.length - shown.length));
  const isCut = isByLength(answered) && total > MAX_BY_LENGTH;
  if (shown.length === 0) {
    const isBeyond = total > 0 && answered.page > 0;
    if (total > 0 && page.recordings.length > 0) return <BeingDeleted />;
    return <NoRecordings isFiltered={isFiltered(answered)} isBeyond={isBeyond} onChange={onChange} />;
  }
  return (
    <section class="card list-card" aria-label={t('Results')} aria-busy={loading}>
      <SelectionBar
        query={answered}
        total={total}
        page={page}
        shown={shown}
        selection={selection}
        onChange={onChange}
        reload={reload}
      />
      <RecordingList recordings={shown} query={answered} selection={selection} onChange={onChange} />
      <div class="list-foot">
        {may('recordings:write') && (
          <p class="drop-hint muted small">{t('Drop audio files anywhere to upload them.')}</p>
        )}
        {page.total > PAGE_SIZE && (
          <Pager
            page={query.page}
            total={isCut ? MAX_BY_LENGTH : total}
            pageSize={PAGE_SIZE}
            isTotalExact={isExact(page) && !isCut}
            onPage={(next) => onChange({ page: next })}
          />
        )}
      </div>
    </section>
  );
}
