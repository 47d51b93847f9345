import type { Recording } from 'vnotes';
import { Link } from 'wouter-preact';

import { Badge } from '../../components/badge';
import { Icon } from '../../components/icon';
import { dateOf, formatAge, formatDate } from '../../format/date';
import { formatDuration, spokenDuration } from '../../format/duration';
import { currentTime } from '../../hooks/current-time';
import { titleOf } from '../../format/recording-title';
import { may } from '../../session/permissions';
import { Highlight } from './search/highlight';

interface RecordingRowProps {
  recording: Recording;
  q: string;
  isSelected: boolean;
  onToggle: (id: string, isRange: boolean) => void;
}

export function RecordingRow({ recording, q, isSelected, onToggle }: RecordingRowProps) {
  const { id, snippet } = recording;
  const title = titleOf(recording);
  return (
    <li class={isSelected ? 'recording-row is-selected' : 'recording-row'}>
      {may('recordings:write') && (
        <label class="row-check">
          <input
            type="checkbox"
            aria-label={`Select ${title}`}
            checked={isSelected}
            onClick={(event) => onToggle(id, event.shiftKey)}
          />
        </label>
      )}
      <div class="row-text">
        <Link href={`/recordings/${id}`} class="row-title" dir="auto">
          {title}
        </Link>
        {snippet && (
          <p class="row-snippet" dir="auto">
            <Highlight text={snippet} q={q} />
          </p>
        )}
        <RowTags recording={recording} />
      </div>
      <RowFacts recording={recording} />
    </li>
  );
}

function RowTags({ recording: { custom_tags, user_id } }: { recording: Recording }) {
  const tags = Object.entries(custom_tags ?? {});
  if (tags.length === 0 && user_id === null) return null;
  return (
    <ul class="row-tags" aria-label="Tags">
      {user_id !== null && (
        <li title={`End user ${user_id}`}>
          <Icon name="user" size={14} />
          <bdi>{user_id}</bdi>
        </li>
      )}
      {tags.map(([key, value]) => (
        <li key={key}>
          <bdi class="muted">{key}</bdi>
          <bdi>{value}</bdi>
        </li>
      ))}
    </ul>
  );
}

function RowFacts({ recording }: { recording: Recording }) {
  const { duration_seconds: seconds, created_at } = recording;
  return (
    <div class="row-facts">
      <RowState recording={recording} />
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

/** What is as it should be is said quietly. */
function RowState({ recording: { status, features } }: { recording: Recording }) {
  if (status === 'processing') return <Badge tone="busy">Processing</Badge>;
  if (status === 'failed') return <Badge tone="bad">Failed</Badge>;
  if (features?.no_speech) return <Badge>No speech</Badge>;
  return (
    <span class="row-done">
      <Icon name="check" size={16} />
      Transcribed
    </span>
  );
}
