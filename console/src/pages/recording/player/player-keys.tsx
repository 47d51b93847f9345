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
  useShortcut(' ', 'Play or pause', () => void playback.toggle());
  useShortcut('ArrowLeft', 'Back 5 seconds', () => playback.skip(-5));
  useShortcut('ArrowRight', 'Forward 5 seconds', () => playback.skip(5));
  useShortcut(',', 'Slower', () => playback.changeSpeed(-1));
  useShortcut('.', 'Faster', () => playback.changeSpeed(1));
  return (
    <>
      {reading && onFind && <ReadingKeys reading={reading} onFind={onFind} />}
      {reading && onCorrect && <CorrectKey onCorrect={onCorrect} />}
    </>
  );
}

function ReadingKeys({ reading, onFind }: { reading: Reading; onFind: () => void }) {
  useShortcut('/', 'Search this transcript', onFind);
  useShortcut('u', 'Go to the next unsure word', () => reading.goToUnsure());
  useShortcut('b', 'Back to the current word', () => reading.backToSpoken());
  return null;
}

function CorrectKey({ onCorrect }: { onCorrect: () => void }) {
  useShortcut('e', 'Correct the transcript', onCorrect);
  return null;
}
