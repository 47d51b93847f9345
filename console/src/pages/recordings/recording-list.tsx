import { useRef } from 'preact/hooks';
import type { Recording } from 'vnotes';

import { may } from '../../session/permissions';
import type { ListQuery } from './list-query';
import { RecordingRow } from './recording-row';
import { RowKeys, SelectionKeys } from './row-keys';
import type { Selection } from './selection/use-selection';

interface RecordingListProps {
  recordings: readonly Recording[];
  /** What they answer. */
  query: ListQuery;
  selection: Selection;
  onChange: (fields: Partial<ListQuery>) => void;
}

export function RecordingList({ recordings, query, selection, onChange }: RecordingListProps) {
  const list = useRef<HTMLUListElement>(null);
  return (
    <ul class="recording-list" ref={list}>
      <RowKeys list={list} />
      {may('recordings:write') && <SelectionKeys list={list} recordings={recordings} selection={selection} />}
      {recordings.map((recording) => (
        <RecordingRow
          key={recording.id}
          recording={recording}
          query={query}
          isSelected={selection.has(recording.id)}
          onToggle={selection.toggle}
          onFilter={onChange}
        />
      ))}
    </ul>
  );
}
