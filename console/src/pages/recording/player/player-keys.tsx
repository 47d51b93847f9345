import { t } from '../../../language/texts';
import { useShortcut } from '../../../hooks/use-shortcut';
import type { Reading } from '../transcript/reading';
import type { Playback } from './playback';

interface PlayerKeysProps {
  playback: Playback;
  /** Null while there is no text. */
  reading: Reading | null;
  onFind?: () => void;
  /** For who may correct the text. */
  onCorrect?: (() => void) | undefined;
}

/** The keys of the player. */
export function PlayerKeys({ playback, reading, onFind, onCorrect }: PlayerKeysProps) {
  useShortcut(' ', t('Play or pause'), () => void playback.toggle());
  useShortcut('ArrowLeft', t('Back 5 seconds'), () => playback.skip(-5));
  useShortcut('ArrowRight', t('Forward 5 seconds'), () => playback.skip(5));
  useShortcut(',', t('Slower'), () => playback.changeSpeed(-1));
  useShortcut('.', t('Faster'), () => playback.changeSpeed(1));
  return (
    <>
      {reading && onFind && <ReadingKeys reading={reading} onFind={onFind} />}
      {reading && onCorrect && <CorrectKey onCorrect={onCorrect} />}
    </>
  );
}

function ReadingKeys({ reading, onFind }: { reading: Reading; onFind: () => void }) {
  useShortcut('/', t('Search this transcript'), onFind);
  useShortcut('u', t('Go to the next unsure word'), () => reading.goToUnsure());
  useShortcut('b', t('Back to the current word'), () => reading.backToSpoken());
  return null;
}

function CorrectKey({ onCorrect }: { onCorrect: () => void }) {
  useShortcut('e', t('Correct the transcript'), onCorrect);
  return null;
}
