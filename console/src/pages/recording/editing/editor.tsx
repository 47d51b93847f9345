import type { Signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { Failed } from '../../../components/failed';
import { Icon, type IconName } from '../../../components/icon';
import { toast } from '../../../components/toast';
import { languageTag } from '../../../format/languages';
import { t } from '../../../language/texts';
import type { Playback } from '../player/playback';
import type { SpeakerNaming } from '../speakers/speaker-naming';
import { mayBeUnsure } from '../text/unsure';
import { sideOf } from '../transcript/sides';
import { UnsureTools } from '../transcript/unsure-tools';
import { type Correction, LONGEST_TEXT } from './correction';
import { TextEditor } from './text-editor';
import './editor.css';

/** Where in the recording the caret is, in seconds. */
export interface PlaceInTime {
  time: number;
  /** Whether the word there is selected, so that it is replaced by what is typed. */
  isWord: boolean;
  /** Of the paragraphs that stand on the page as they are, in pixels. */
  heights: readonly (number | undefined)[];
}

interface EditorProps {
  correction: Correction;
  /** Where it opens; set to where the caret was as it closes. */
  place: Signal<PlaceInTime>;
  playback: Playback;
  naming: Pick<SpeakerNaming, 'personOf'>;
  language: string;
  isTimed: boolean;
  onSave: () => void;
}

/** The text as it is read, to be typed in. The audio can be played meanwhile, and what was typed is kept as a draft. */
export function Editor({ correction, place, playback, naming, language, isTimed, onSave }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef({ naming, onSave });
  latest.current = { naming, onSave };
  const editor = useRef<TextEditor | null>(null);
  useLayoutEffect(() => {
    const made = new TextEditor(host.current as HTMLDivElement, correction.edited, playback, {
      isTimed,
      heights: place.peek().heights,
      sideOf: (paragraph) => sideOf(paragraph, latest.current.naming),
      save: () => latest.current.onSave(),
      isLocked: () => correction.saving.peek(),
    });
    editor.current = made;
    made.open(place.peek().time, place.peek().isWord);
    return () => {
      place.value = { time: made.time, isWord: false, heights: [] };
      made.dispose();
    };
  }, [correction]);
  // The names of speakers may be others now.
  useEffect(() => editor.current?.layer.redraw());
  return (
    <div class="transcript">
      <div
        ref={host}
        class={isTimed ? 'transcript-text is-edited is-timed' : 'transcript-text is-edited'}
        role="textbox"
        aria-multiline="true"
        aria-label={t('Corrected text')}
        aria-describedby="correction-hint"
        aria-invalid={correction.isTooLong.value}
        aria-busy={correction.saving.value}
        lang={languageTag(language)}
        contentEditable="plaintext-only"
        spellcheck
      />
      <p id="correction-hint" class={correction.isTooLong.value ? 'editor-hint error' : 'editor-hint'}>
        {correction.isTooLong.value
          ? t('The text can have at most {count, number} characters.', { count: LONGEST_TEXT })
          : t(
              'Enter divides a paragraph. Tab goes to the next unsure word, Esc leaves the text. Ctrl+Space plays from the cursor or pauses, Ctrl+Enter saves.',
            )}
      </p>
      {correction.error.value !== null && <Failed error={correction.error.value} onRetry={onSave} />}
    </div>
  );
}

interface EditToolsProps {
  correction: Correction;
  onSave: () => void;
  /** @param discarded what is to be edited again */
  onClose: (discarded?: Correction) => void;
}

/** Above the text while it is corrected, in reach wherever one is in it. */
export function EditTools({ correction, onSave, onClose }: EditToolsProps) {
  const { edited } = correction;
  const discard = async () => {
    const wasChanged = correction.isChanged;
    await correction.discard();
    onClose();
    if (wasChanged) toast(t('Correction discarded.'), { action: { label: t('Undo'), run: () => onClose(correction) } });
  };
  const isSaving = correction.saving.value;
  return (
    <header class="text-tools is-editing">
      <UnsureTools
        count={edited.unsureCount.value}
        isOffered={edited.paragraphs.some(({ words }) => words.some(mayBeUnsure))}
        onNext={() => edited.goToUnsure(1, true)}
      />
      <p class={correction.isKept.value ? 'editor-kept' : 'editor-kept is-warn'} role="status">
        {correction.isKept.value
          ? t('Changes are kept on this device until you save.')
          : t('This browser cannot keep a draft. Save before you leave.')}
      </p>
      <div class="actions">
        <HistoryButton
          label={t('Undo')}
          icon="undo"
          isPossible={!isSaving && edited.canUndo.value}
          onClick={() => edited.undo()}
        />
        <HistoryButton
          label={t('Redo')}
          icon="redo"
          isPossible={!isSaving && edited.canRedo.value}
          onClick={() => edited.redo()}
        />
        <button type="button" class="button" onClick={() => void discard()}>
          <Icon name="close" />
          <span>{t('Cancel')}</span>
        </button>
        <button
          type="button"
          class="button is-primary"
          data-focus="save"
          disabled={isSaving || correction.isTooLong.value}
          aria-busy={isSaving}
          onClick={onSave}
        >
          {isSaving ? t('Saving…') : t('Save')}
        </button>
      </div>
    </header>
  );
}

interface HistoryButtonProps {
  label: string;
  icon: IconName;
  isPossible: boolean;
  onClick: () => void;
}

function HistoryButton({ label, icon, isPossible, onClick }: HistoryButtonProps) {
  return (
    <button
      type="button"
      class="button is-quiet is-icon"
      aria-label={label}
      title={label}
      disabled={!isPossible}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
