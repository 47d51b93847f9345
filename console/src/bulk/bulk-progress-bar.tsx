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

function Task({ task: { label, done, total, stop } }: { task: BulkTask }) {
  return (
    <div class="bulk-task">
      <label>
        <span class="numbers">
          {label} {done.toLocaleString('en')} of {total.toLocaleString('en')}
        </span>
        <progress max={total} value={done} />
      </label>
      <button type="button" class="button is-quiet" aria-label={`Stop ${label.toLowerCase()}`} onClick={stop}>
        Stop
      </button>
    </div>
  );
}
