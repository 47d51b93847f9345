import { titleOfItem } from '../../format/recording-title';
import { formatBytes } from '../../format/bytes';
import { t } from '../../language/texts';
import { RowActions } from './row-actions';
import { statusText } from './status-text';
import type { UploadView } from '../upload-list';
import { useNow } from './use-now';
import './upload-row.css';

/** One recording or file on its way: how far it is, what it waits for and what can be done. */
export function UploadRow({ view }: { view: UploadView }) {
  const { item, phase } = view;
  return (
    <li class={`upload-row is-${phase}`}>
      <p class="upload-name">
        <span dir="auto" title={titleOfItem(item)}>
          {titleOfItem(item)}
        </span>
        <small>{formatBytes(item.size)}</small>
      </p>
      {['sending', 'elsewhere'].includes(phase) && (
        <progress
          value={view.sent}
          max={Math.max(1, item.size)}
          aria-label={t('Upload of {title}', { title: titleOfItem(item) })}
        />
      )}
      {isLostWithTab(view) && (
        <p class="upload-status is-bad">
          {t('Browser storage is full. Keep this tab open until it is sent, or free up space.')}
        </p>
      )}
      <div class="upload-line">
        <Status view={view} />
        <RowActions view={view} />
      </div>
    </li>
  );
}

function Status({ view }: { view: UploadView }) {
  const now = useNow(view.until !== null);
  const { phase, item } = view;
  const tone = phase === 'refused' ? ' is-bad' : phase === 'sent' ? ' is-good' : '';
  return (
    <p class={`upload-status numbers${tone}`}>
      {statusText(view, now)}
      {phase === 'refused' && <span class="muted"> {item.problem?.hint}</span>}
    </p>
  );
}

/** A file that is too large is not kept on purpose: it is on the disk. */
function isLostWithTab({ durable, phase }: UploadView): boolean {
  return !durable && phase !== 'sent' && phase !== 'refused';
}
