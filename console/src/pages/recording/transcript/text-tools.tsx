import type { Transcription } from 'vnotes';

import { CopyButton } from '../../../components/copy-button';
import { Icon } from '../../../components/icon';
import type { Original } from '../editing/use-original';
import { RestoreButton } from '../editing/restore-button';
import { may } from '../../../session/permissions';
import type { Note } from '../note';
import type { Reading } from './reading';

interface TextToolsProps {
  note: Note;
  transcription: Transcription;
  original: Original;
  onEdit: () => void;
  /** As it is shown. */
  text: string;
}

/** Above the text: which of the two texts is shown, and what can be done with it. */
export function TextTools({ note, transcription, original, onEdit, text }: TextToolsProps) {
  const isCorrected = transcription.version === 'corrected';
  const isWritable = may('recordings:write');
  return (
    <header class="card-header text-tools">
      {isCorrected ? <VersionSwitch original={original} /> : <h2>Transcript</h2>}
      <div class="actions">
        {isCorrected && isWritable && original.isShown.value && <RestoreButton note={note} original={original} />}
        <CopyButton text={text} label="Copy" />
        {isWritable && (
          <button type="button" class="button" data-focus="correct" onClick={onEdit}>
            <Icon name="edit" />
            Correct
          </button>
        )}
      </div>
    </header>
  );
}

function VersionSwitch({ original }: { original: Original }) {
  const isShown = original.isShown.value;
  return (
    <div class="segmented" role="group" aria-label="Version">
      <button type="button" aria-pressed={!isShown} onClick={() => original.hide()}>
        Corrected
      </button>
      <button type="button" aria-pressed={isShown} onClick={() => void original.show()}>
        Original
      </button>
    </div>
  );
}

/** In the player. */
export function ToolButtons({ reading, onFind }: { reading: Reading; onFind: () => void }) {
  const count = reading.unsure.length;
  return (
    <>
      <button
        type="button"
        class="button is-quiet is-icon"
        data-focus="find"
        aria-label="Search this transcript"
        onClick={onFind}
      >
        <Icon name="search" />
      </button>
      {count > 0 && (
        <button type="button" class="button is-quiet unsure-button" onClick={() => reading.goToUnsure()}>
          <span class="unsure-count">{count.toLocaleString('en')} unsure</span>
          <span class="visually-hidden">words, go to the next</span>
        </button>
      )}
    </>
  );
}
