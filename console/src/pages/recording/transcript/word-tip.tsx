import type { ReadonlySignal } from '@preact/signals';

import { formatDuration } from '../../../format/duration';
import { t } from '../../../language/texts';
import { isUnsure } from '../text/unsure';
import type { TextWord } from '../text/words';
import { TIP_ID } from './word-layer';

/** A word that is pointed at or focused, and where the tip stands in the transcript. */
export interface Tipped {
  word: TextWord;
  left: number;
  top: number;
}

interface WordTipProps {
  tipped: ReadonlySignal<Tipped | null>;
  /** Whether the person may correct it. */
  isEditable: boolean;
}

/** How sure the engine is of a word, when it is spoken, and how it is corrected. */
export function WordTip({ tipped, isEditable }: WordTipProps) {
  const shown = tipped.value;
  return (
    <div
      id={TIP_ID}
      role="tooltip"
      class="word-tip"
      hidden={!shown}
      style={shown ? { left: `${shown.left}px`, top: `${shown.top}px` } : {}}
    >
      {shown && tipText(shown.word)}
      {shown && isEditable && <span class="word-tip-more"> {t('· Double click to correct')}</span>}
    </div>
  );
}

function tipText(word: TextWord): string {
  const { confidence, start } = word;
  const time = formatDuration(start);
  if (confidence === null) return t('No confidence · {time}', { time });
  const percent = Math.round(confidence * 100);
  return isUnsure(word)
    ? t('Unsure: {percent}% confidence · {time}', { percent, time })
    : t('{percent}% confidence · {time}', { percent, time });
}
