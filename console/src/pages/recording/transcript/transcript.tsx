import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';

import { Icon } from '../../../components/icon';
import { formatDuration } from '../../../format/duration';
import { languageTag } from '../../../format/languages';
import { t } from '../../../language/texts';
import type { SpeakerNaming } from '../speakers/speaker-naming';
import type { Block } from '../text/blocks';
import type { Reading } from './reading';
import { sideOf } from './sides';
import { WordKeys } from './word-keys';
import { type Tipped, WordTip } from './word-tip';
import './transcript.css';

interface TranscriptProps {
  reading: Reading;
  naming: Pick<SpeakerNaming, 'personOf'>;
  language: string;
  /** For who may correct it. @param word that the person pointed at */
  onCorrect?: (word: number) => void;
}

/** The text: what is spoken is marked, and a word that is clicked is played. */
export function Transcript({ reading, naming, language, onCorrect }: TranscriptProps) {
  const tipped = useSignal<Tipped | null>(null);
  const keys = useMemo(() => new WordKeys(reading, tipped), [reading]);
  keys.correct = onCorrect;
  const wasPlaying = useRef(false);
  useEffect(() => {
    reading.at(reading.playback.time);
    return reading.playback.onTime((time) => reading.at(time));
  }, [reading]);
  const play = (event: MouseEvent) => {
    // The second click of two begins to correct.
    if (onCorrect && event.detail > 1) return;
    const word = reading.layer.numberOf(event.target);
    // The keys of the player stay at hand: a click is no way into the text.
    if (document.activeElement instanceof HTMLElement && reading.layer.hasFocus) document.activeElement.blur();
    wasPlaying.current = reading.playback.playing.peek();
    if (word !== null && document.getSelection()?.isCollapsed !== false) reading.playFrom(word);
  };
  const correct = (event: MouseEvent) => {
    const word = reading.layer.numberOf(event.target);
    if (word === null || !onCorrect) return;
    // The first click has started it.
    if (!wasPlaying.current) reading.playback.pause();
    onCorrect(word);
  };
  return (
    <div class="transcript">
      <div
        class={reading.isTimed ? 'transcript-text is-timed' : 'transcript-text'}
        role="group"
        aria-label={t('Transcript')}
        lang={languageTag(language)}
        onClick={play}
        onDblClick={correct}
        onKeyDown={(event) => keys.press(event)}
        onPointerOver={(event) => keys.point(event.target)}
        onPointerLeave={() => keys.point(null)}
        onFocusIn={(event) => keys.point(event.target)}
        onFocusOut={() => keys.point(null)}
      >
        {reading.blocks.map((block, index) => (
          <Paragraph key={block.first} block={block} index={index} reading={reading} naming={naming} />
        ))}
        <WordTip tipped={tipped} isEditable={onCorrect !== undefined} />
      </div>
      <p id="transcript-keys" class="transcript-keys">
        {t('Use the arrow keys to move between words, Enter to play from a word, and U for the next unsure word.')}
        {onCorrect && ` ${t('E corrects a word, as a double click does.')}`}
      </p>
      <BackToSpoken reading={reading} />
    </div>
  );
}

interface ParagraphProps extends Pick<TranscriptProps, 'reading' | 'naming'> {
  block: Block;
  index: number;
}

function Paragraph({ block, index, reading, naming }: ParagraphProps) {
  const text = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    reading.layer.attach(index, text.current);
    return () => reading.layer.attach(index, null);
  }, [reading, index]);
  const side = sideOf(block, naming);
  return (
    <div class={side ? `block has-side ${side.class}` : 'block'}>
      {side && block.beginsTurn && (
        <p class="block-speaker">
          <bdi>{side.title}</bdi>
        </p>
      )}
      {reading.isTimed && (
        <button
          type="button"
          class="block-time"
          tabIndex={-1}
          aria-label={t('Play from {time}', { time: formatDuration(block.start) })}
          onClick={() => reading.playFrom(block.first)}
        >
          {formatDuration(block.start)}
        </button>
      )}
      <p class="block-text" dir="auto" ref={text} />
    </div>
  );
}

/** The way back, once the person has scrolled away. */
function BackToSpoken({ reading }: { reading: Reading }) {
  useEffect(() => {
    const look = () => reading.look();
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, [reading]);
  const isLost = !reading.follower.following.value && reading.isOutOfSight.value && reading.spoken.value >= 0;
  if (!isLost) return null;
  return (
    <div class="back-to-spoken">
      <button type="button" class="button is-primary" onClick={() => reading.backToSpoken()}>
        <Icon name="locate" />
        {t('Back to the current word')}
      </button>
    </div>
  );
}
