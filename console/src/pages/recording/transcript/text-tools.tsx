import type { Transcription } from 'vnotes';

import { CopyButton } from '../../../components/copy-button';
import { Icon } from '../../../components/icon';
import { t } from '../../../language/texts';
import type { Original } from '../editing/use-original';
import { RestoreButton } from '../editing/restore-button';
import { may } from '../../../session/permissions';
import type { Note } from '../note';
import { DownloadMenu } from '../panels/download-menu';
import { mayBeUnsure } from '../text/unsure';
import type { Reading } from './reading';
import { UnsureTools } from './unsure-tools';

interface TextToolsProps {
  note: Note;
  reading: Reading;
  transcription: Transcription;
  original: Original;
  onEdit: () => void;
  /** As it is shown. */
  text: string;
}

/** Above the text: which of the two texts is shown, and what can be done with it. */
export function TextTools({ note, reading, transcription, original, onEdit, text }: TextToolsProps) {
  const isCorrected = transcription.version === 'corrected';
  const isWritable = may('recordings:write');
  return (
    <header class="text-tools">
      {isCorrected ? <VersionSwitch original={original} /> : <h2>{t('Transcript')}</h2>}
      <UnsureTools
        count={reading.unsure.value.length}
        isOffered={reading.words.some(mayBeUnsure)}
        onNext={() => reading.goToUnsure()}
      />
      <div class="actions">
        {isCorrected && isWritable && original.isShown.value && <RestoreButton note={note} original={original} />}
        <CopyButton text={text} label={t('Copy')} />
        <DownloadMenu note={note} version="current" />
        {isWritable && (
          <button type="button" class="button" data-focus="correct" onClick={onEdit}>
            <Icon name="edit" />
            <span>{t('Correct')}</span>
          </button>
        )}
      </div>
    </header>
  );
}

function VersionSwitch({ original }: { original: Original }) {
  const isShown = original.isShown.value;
  return (
    <div class="segmented" role="group" aria-label={t('Version')}>
      <button type="button" aria-pressed={!isShown} onClick={() => original.hide()}>
        {t('Corrected')}
      </button>
      <button type="button" aria-pressed={isShown} onClick={() => void original.show()}>
        {t('Original')}
      </button>
    </div>
  );
}

/** In the player. */
export function FindButton({ onFind }: { onFind: () => void }) {
  return (
    <button
      type="button"
      class="button is-quiet is-icon"
      data-focus="find"
      aria-label={t('Search this transcript')}
      onClick={onFind}
    >
      <Icon name="search" />
    </button>
  );
}
