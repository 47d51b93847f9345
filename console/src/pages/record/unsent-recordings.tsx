import { useState } from 'preact/hooks';

import { titleOfItem } from '../../format/recording-title';
import { Icon } from '../../components/icon';
import { formatBytes } from '../../format/bytes';
import { formatDuration } from '../../format/duration';
import { rich, t } from '../../language/texts';
import { RowActions } from '../../uploads/tray/row-actions';
import { interrupted, type UploadView } from '../../uploads/upload-list';
import { ItemPlayer } from './item-player';
import { formatMoment } from './moment';
import './unsent-recordings.css';

/** What a closed tab, a crash or a lost microphone left: nothing of it is sent without being asked for. */
export function UnsentRecordings() {
  if (interrupted.value.length === 0) return null;
  return (
    <section class="card unsent" aria-labelledby="unsent">
      <div class="card-header">
        <h2 id="unsent">{t('Not sent yet')}</h2>
      </div>
      <ul>
        {interrupted.value.map((view) => (
          <UnsentRecording key={view.item.id} view={view} />
        ))}
      </ul>
    </section>
  );
}

function UnsentRecording({ view }: { view: UploadView }) {
  const [plays, setPlays] = useState(false);
  const { item } = view;
  return (
    <li class="unsent-item">
      <div class="unsent-text">
        <p>
          {rich('A recording of {time} from {moment} was not sent.', {
            time: <strong class="numbers">{formatDuration(item.seconds ?? 0)}</strong>,
            moment: formatMoment(item.createdAt),
          })}
        </p>
        <p class="muted small">
          <span dir="auto">{titleOfItem(item)}</span> · {formatBytes(item.size)}
        </p>
      </div>
      <div class="actions">
        <button
          type="button"
          class="button is-quiet"
          aria-expanded={plays}
          aria-label={t('Play: {title}', { title: titleOfItem(item) })}
          onClick={() => setPlays(!plays)}
        >
          <Icon name="play" />
          {t('Play')}
        </button>
        <RowActions view={view} />
      </div>
      {plays && <ItemPlayer item={item} />}
    </li>
  );
}
