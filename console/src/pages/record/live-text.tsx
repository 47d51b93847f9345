import { useLayoutEffect, useRef } from 'preact/hooks';

import { chooseLiveWords, mayLiveWords, wantsLiveWords } from '../../capture/live/live-choice';
import type { LiveCapture } from '../../capture/live/live-capture';
import '../../forms/choices.css';
import { t } from '../../language/texts';
import './live-text.css';

/** So far from the end the person reads what was said before. */
const NEAR_END_PX = 40;

/** What is said, while it is said. A screen reader reads what stays as it is. */
export function LiveText({ live }: { live: LiveCapture }) {
  const { words } = live;
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [finals, partial] = [words.finals.value, words.partial.value];
  useLayoutEffect(() => {
    if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [finals, partial]);
  const look = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: { currentTarget: HTMLElement }) =>
    (isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX);
  const hasWords = finals.length > 0 || partial !== '';
  return (
    <section class="live-text" aria-label={t('Live words')}>
      {(hasWords || live.state.value !== 'off') && (
        <div class="live-words" ref={box} role="group" aria-label={t('Words so far')} onScroll={look}>
          <p dir="auto">
            <span role="log" aria-live="polite">
              {finals.map(({ item, text }) => (
                <span key={item}>{text} </span>
              ))}
            </span>
            <span class="live-partial" aria-hidden="true">
              {partial}
            </span>
          </p>
        </div>
      )}
      <p class="live-hint muted small" role="status">
        {hintOf(live, hasWords)}
      </p>
    </section>
  );
}

function hintOf({ state, words: { problem } }: LiveCapture, hasWords: boolean): string {
  if (state.value === 'off' || problem.value !== null) {
    return [t('No live words.'), problem.value, t('The recording goes on.')].filter(Boolean).join(' ');
  }
  return hasWords ? '' : t('Words appear here while you speak.');
}

export function LiveSwitch() {
  if (!mayLiveWords.value) return null;
  return (
    <label class="choice live-switch">
      <input
        type="checkbox"
        role="switch"
        checked={wantsLiveWords.value}
        onChange={(event) => chooseLiveWords(event.currentTarget.checked)}
      />
      <span>
        {t('Live words')}
        <span class="choice-hint">{t('The audio is sent while you speak, and its words appear here.')}</span>
      </span>
    </label>
  );
}
