import type { Signal } from '@preact/signals';
import type { Transcription } from 'vnotes';

import { CopyButton } from '../../../components/copy-button';
import { Icon } from '../../../components/icon';
import type { Original } from '../editing/use-original';
import { RestoreButton } from '../editing/restore-button';
import type { Note } from '../note';
import type { Reading } from './reading';

interface TextToolsProps {
  note: Note;
  transcription: Transcription;
  original: Original;
  isEditing: Signal<boolean>;
  /** As it is shown. */
  text: string;
}

/** Above the text: which of the two texts is shown, and what can be done with it. */
export function TextTools({ note, transcription, original, isEditing, text }: TextToolsProps) {
  const isCorrected = transcription.version === 'corrected';
  return (
    <header class="card-header text-tools">
      {isCorrected ? <VersionSwitch original={original} /> : <h2>Text</h2>}
      <div class="actions">
        {isCorrected && original.isShown.value && <RestoreButton note={note} original={original} />}
        <CopyButton text={text} label="Copy" />
        <button type="button" class="button" onClick={() => (isEditing.value = true)}>
          <Icon name="edit" />
          Correct
        </button>
      </div>
    </header>
  );
}

function VersionSwitch({ original }: { original: Original }) {
  const isShown = original.isShown.value;
  return (
    <div class="segmented" role="group" aria-label="Which text">
      <button type="button" aria-pressed={!isShown} onClick={() => original.hide()}>
        Corrected
      </button>
      <button type="button" aria-pressed={isShown} onClick={() => void original.show()}>
        As heard
      </button>
    </div>
  );
}

/** In the player. */
export function ToolButtons({ reading, onFind }: { reading: Reading; onFind: () => void }) {
  const count = reading.unsure.length;
  return (
    <>
      <button type="button" class="button is-quiet is-icon" aria-label="Search in this text" onClick={onFind}>
        <Icon name="search" />
      </button>
      {count > 0 && (
        <button type="button" class="button is-quiet unsure-button" onClick={() => reading.goToUnsure()}>
          <span class="unsure-count">{count.toLocaleString('en')} unsure</span>
          <span class="visually-hidden">words: go to the next</span>
        </button>
      )}
    </>
  );
}
