import { useSignal } from '@preact/signals';
import type { TranscriptionVersion } from 'vnotes';

import { Badge } from '../../../components/badge';
import { CopyButton } from '../../../components/copy-button';
import { Failed } from '../../../components/failed';
import { Loading } from '../../../components/loading';
import { formatDate } from '../../../format/date';
import { languageTitle } from '../../../format/languages';
import { useAsync } from '../../../hooks/use-async';
import { t } from '../../../language/texts';
import type { Note } from '../note';

/** What each run of an engine heard. They are asked for when the list is opened. */
export function Versions({ note }: { note: Note }) {
  const isOpen = useSignal(false);
  return (
    <details class="card details" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>{t('Versions')}</summary>
      {isOpen.value && <VersionList note={note} />}
    </details>
  );
}

/** The service keeps so many. */
const MOST_VERSIONS = 5;

function VersionList({ note }: { note: Note }) {
  const { value, error, reload } = useAsync(
    (signal) => note.client.recordings.versions(note.id, { limit: MOST_VERSIONS }, { signal }),
    [note, note.transcription.value?.etag, note.again.value.state],
  );
  if (error) return <Failed error={error} onRetry={reload} />;
  if (!value) return <Loading label={t('Loading versions…')} />;
  return (
    <ol class="versions">
      {value.transcriptions.map((version) => (
        <li key={version.id}>
          <Version version={version} />
        </li>
      ))}
    </ol>
  );
}

function Version({ version }: { version: TranscriptionVersion }) {
  const { provider, model, language, confidence, text, corrected_text, is_served, created_at } = version;
  return (
    <>
      <div class="version-title">
        <strong>{formatDate(created_at)}</strong> {is_served && <Badge tone="accent">{t('Current')}</Badge>}{' '}
        {corrected_text !== null && <Badge>{t('Corrected')}</Badge>}
      </div>
      <p class="muted small">
        {provider} · {model} · {languageTitle(language)} ·{' '}
        {t('{percent}% confidence', { percent: Math.round(confidence * 100) })}
      </p>
      <details class="version-text">
        <summary>{t('Transcript')}</summary>
        <p dir="auto">{text === '' ? t('No words.') : text}</p>
        {text !== '' && <CopyButton text={text} label={t('Copy this version')} />}
      </details>
    </>
  );
}
