import type { Recording } from 'vnotes';

import { RecordingRow } from './recording-row';
import type { Selection } from './use-selection';

interface RecordingListProps {
  recordings: readonly Recording[];
  q: string;
  selection: Selection;
}

export function RecordingList({ recordings, q, selection }: RecordingListProps) {
  return (
    <ul class="recording-list">
      {recordings.map((recording) => (
        <RecordingRow
          key={recording.id}
          recording={recording}
          q={q}
          isSelected={selection.has(recording.id)}
          onToggle={selection.toggle}
        />
      ))}
    </ul>
  );
}
