import { t } from '../language/texts';
import { type BulkTask, bulkTasks } from './bulk-task';
import './bulk-progress-bar.css';

/** How far the tasks with many recordings are; on all pages. */
export function BulkProgressBar() {
  if (bulkTasks.value.length === 0) return null;
  return (
    <div class="bulk-progress">
      {bulkTasks.value.map((task, i) => (
        <Task key={i} task={task} />
      ))}
    </div>
  );
}

const LABELS = {
  delete: { progress: 'Deleting {done, number} of {total, number}', stop: 'Stop deleting' },
  export: { progress: 'Exporting {done, number} of {total, number}', stop: 'Stop exporting' },
  select: { progress: 'Selecting {done, number} of {total, number}', stop: 'Stop selecting' },
  tag: { progress: 'Tagging {done, number} of {total, number}', stop: 'Stop tagging' },
  transcribe: { progress: 'Transcribing {done, number} of {total, number}', stop: 'Stop transcribing' },
} as const;

function Task({ task: { name, done, total, stop } }: { task: BulkTask }) {
  return (
    <div class="bulk-task">
      <label>
        <span class="numbers">{t(LABELS[name].progress, { done, total })}</span>
        <progress max={total} value={done} />
      </label>
      <button type="button" class="button is-quiet" aria-label={t(LABELS[name].stop)} onClick={stop}>
        {t('Stop')}
      </button>
    </div>
  );
}
