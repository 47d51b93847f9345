import { bulkProgress } from './bulk-task';
import './bulk-progress-bar.css';

/** How far a task with many recordings is; on all pages. */
export function BulkProgressBar() {
  const progress = bulkProgress.value;
  if (!progress) return null;
  const { label, done, total } = progress;
  return (
    <div class="bulk-progress">
      <label>
        <span class="numbers">
          {label} {done} of {total}
        </span>
        <progress max={total} value={done} />
      </label>
    </div>
  );
}
