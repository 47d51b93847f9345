import type { Recording } from 'vnotes';
import { Link } from 'wouter-preact';

import { Badge } from '../../components/badge';
import { Icon } from '../../components/icon';
import { dateOf, formatAge, formatDate } from '../../format/date';
import { formatDuration, spokenDuration } from '../../format/duration';
import { currentTime } from '../../hooks/current-time';
import { titleOf } from '../../format/recording-title';
import { t } from '../../language/texts';
import { may } from '../../session/permissions';
import { type ListQuery, withTag } from './list-query';
import { firstHit, Highlight } from './search/highlight';

interface RecordingRowProps {
  recording: Recording;
  query: ListQuery;
  isSelected: boolean;
  onToggle: (id: string, isRange: boolean) => void;
  onFilter: (fields: Partial<ListQuery>) => void;
}

export function RecordingRow({ recording, query, isSelected, onToggle, onFilter }: RecordingRowProps) {
  const { id } = recording;
  const title = titleOf(recording);
  return (
    <li class={isSelected ? 'recording-row is-selected' : 'recording-row'}>
      {may('recordings:write') && (
        <label class="row-check">
          <input
            type="checkbox"
            aria-label={t('Select {title}', { title })}
            checked={isSelected}
            onClick={(event) => onToggle(id, event.shiftKey)}
          />
        </label>
      )}
      <div class="row-text">
        <Link href={addressOf(recording, query.q)} class="row-title" dir="auto">
          {title}
        </Link>
        <RowWords recording={recording} q={query.q} />
        <RowTags recording={recording} query={query} onFilter={onFilter} />
      </div>
      <RowFacts recording={recording} />
    </li>
  );
}

/** Of the note, at what was found in it. */
function addressOf({ id, snippet }: Recording, q: string): string {
  const hit = q === '' ? null : firstHit(snippet ?? '', q);
  return `/recordings/${id}${hit === null ? '' : `?${new URLSearchParams({ find: hit }).toString()}`}`;
}

/** What was found, else how the text begins. */
function RowWords({ recording: { status, features, snippet }, q }: { recording: Recording; q: string }) {
  if (!snippet) {
    const isSilent = status === 'transcribed' && features?.no_speech;
    return isSilent ? <p class="row-snippet">{t('No speech')}</p> : null;
  }
  return (
    <p class={q === '' ? 'row-snippet is-beginning' : 'row-snippet'} dir="auto">
      <Highlight text={snippet} q={q} />
    </p>
  );
}

type RowTagsProps = Pick<RecordingRowProps, 'recording' | 'query' | 'onFilter'>;

function RowTags({ recording: { custom_tags, user_id }, query, onFilter }: RowTagsProps) {
  const tags = Object.entries(custom_tags ?? {});
  if (tags.length === 0 && user_id === null) return null;
  return (
    <ul class="row-tags" aria-label={t('Tags')}>
      {user_id !== null && (
        <li>
          <button
            type="button"
            class="row-tag"
            title={t('Show only end user {user}', { user: user_id })}
            onClick={() => onFilter({ user: user_id })}
          >
            <Icon name="user" size={14} />
            <span class="visually-hidden">{t('End user')}</span>
            <bdi>{user_id}</bdi>
          </button>
        </li>
      )}
      {tags.map(([key, value]) => (
        <li key={key}>
          <button
            type="button"
            class="row-tag"
            title={t('Show only {key}: {value}', { key, value })}
            onClick={() => onFilter({ tags: withTag(query.tags, key, value) })}
          >
            <bdi class="muted">{key}</bdi>
            <bdi>{value}</bdi>
          </button>
        </li>
      ))}
    </ul>
  );
}

function RowFacts({ recording }: { recording: Recording }) {
  const { duration_seconds: seconds, created_at, status } = recording;
  return (
    <div class="row-facts">
      {status === 'processing' && <Badge tone="busy">{t('Processing')}</Badge>}
      {status === 'failed' && <Badge tone="bad">{t('Failed')}</Badge>}
      <span class="row-duration numbers">
        <span aria-hidden="true">{formatDuration(seconds)}</span>
        <span class="visually-hidden">{spokenDuration(seconds)}</span>
      </span>
      <time class="row-age muted" dateTime={dateOf(created_at).toISOString()} title={formatDate(created_at)}>
        {formatAge(created_at, currentTime.value)}
      </time>
    </div>
  );
}
