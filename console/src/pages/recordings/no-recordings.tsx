import { Link } from 'wouter-preact';

import { Empty } from '../../components/empty';
import { Icon } from '../../components/icon';
import { t } from '../../language/texts';
import { chooseFiles } from '../../uploads/file-picker';
import { addFiles } from '../../uploads/uploads';
import { may } from '../../session/permissions';
import type { ListQuery } from './list-query';

interface NoRecordingsProps {
  isFiltered: boolean;
  /** The page is after the last. */
  isBeyond: boolean;
  onChange: (fields: Partial<ListQuery>) => void;
}

const NOTHING: Partial<ListQuery> = { q: '', status: '', from: '', to: '', user: '', tags: [], page: 0 };

export function NoRecordings({ isFiltered, isBeyond, onChange }: NoRecordingsProps) {
  return (
    <div class="card">
      {isBeyond ? <Beyond onChange={onChange} /> : isFiltered ? <NoResults onChange={onChange} /> : <FirstUse />}
    </div>
  );
}

/** Those of this page go; others take their place. */
export function BeingDeleted() {
  return (
    <div class="card">
      <Empty title={t('Deleting recordings…')} hint={t('The others are listed once these are gone.')} />
    </div>
  );
}

function Beyond({ onChange }: Pick<NoRecordingsProps, 'onChange'>) {
  return (
    <Empty
      title={t('This page is empty')}
      hint={t('Its recordings were deleted, or do not match any more.')}
      action={
        <button type="button" class="button" onClick={() => onChange({ page: 0 })}>
          {t('Go to the first page')}
        </button>
      }
    />
  );
}

function NoResults({ onChange }: Pick<NoRecordingsProps, 'onChange'>) {
  return (
    <Empty
      icon="search"
      title={t('No matching recordings')}
      hint={t('Try fewer words or remove a filter. Search covers transcribed recordings only.')}
      action={
        <button type="button" class="button" onClick={() => onChange(NOTHING)}>
          {t('Show all recordings')}
        </button>
      }
    />
  );
}

function FirstUse() {
  if (!may('recordings:write')) return <Empty title={t('No recordings yet')} />;
  return (
    <Empty
      icon="mic"
      title={t('Your first voice note')}
      hint={t(
        'Record one here, or drop audio files anywhere on this page: WebM, MP3, Ogg, WAV, M4A, FLAC or AMR, up to 25 MB each.',
      )}
      action={
        <>
          <Link href="/record" class="button is-primary">
            <Icon name="mic" />
            {t('Record a note')}
          </Link>
          <button type="button" class="button" onClick={() => void chooseFiles().then((files) => addFiles(files))}>
            <Icon name="upload" />
            {t('Upload files')}
          </button>
        </>
      }
    />
  );
}
