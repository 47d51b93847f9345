import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { formatDuration } from '../../../format/duration';
import { Icon } from '../../../components/icon';
import { t } from '../../../language/texts';
import type { Playback } from './playback';
import { SPEEDS } from './playback';
import { Waveform } from './waveform';
import './player-bar.css';

interface PlayerBarProps {
  playback: Playback;
  /** Null where the service has none: then there is a plain seek bar. */
  peaks: readonly number[] | null;
  /** Further controls, at its end. */
  children?: ComponentChildren;
}

export function PlayerBar({ playback, peaks, children }: PlayerBarProps) {
  return (
    <section class="player" aria-label={t('Player')}>
      <div class="player-main">
        <PlayButton playback={playback} />
        <SeekBar playback={playback} peaks={peaks} />
      </div>
      <div class="player-controls">
        <Times playback={playback} />
        <div class="player-buttons">
          <button
            type="button"
            class="button is-quiet is-icon"
            aria-label={t('Back 5 seconds')}
            onClick={() => playback.skip(-5)}
          >
            <Icon name="skip-back" />
          </button>
          <button
            type="button"
            class="button is-quiet is-icon"
            aria-label={t('Forward 5 seconds')}
            onClick={() => playback.skip(5)}
          >
            <Icon name="skip-forward" />
          </button>
          <Speed playback={playback} />
          {children}
        </div>
      </div>
      <Problem playback={playback} />
    </section>
  );
}

function PlayButton({ playback }: { playback: Playback }) {
  const isBusy = playback.waiting.value;
  const isOn = playback.playing.value || isBusy;
  return (
    <button
      type="button"
      class={isBusy && !playback.playing.value ? 'player-play is-busy' : 'player-play'}
      aria-label={isOn ? t('Pause') : t('Play')}
      onClick={() => void playback.toggle()}
    >
      <Icon name={isOn ? 'pause' : 'play'} />
    </button>
  );
}

/** A native range, so that it works with keys and screen readers; with a waveform it lies on it and is not seen. */
function SeekBar({ playback, peaks }: Omit<PlayerBarProps, 'children'>) {
  const input = useRef<HTMLInputElement>(null);
  const duration = playback.duration.value;
  const second = playback.second.value;
  useEffect(() => {
    const show = (time: number) => {
      if (input.current) input.current.value = String(time);
    };
    show(playback.time);
    return playback.onTime(show);
  }, [playback, duration]);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -5, ArrowRight: 5, ArrowDown: -5, ArrowUp: 5 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    playback.skip(step);
  };
  return (
    <div class={peaks ? 'seek has-waveform' : 'seek'}>
      {peaks && <Waveform peaks={peaks} playback={playback} />}
      <input
        ref={input}
        type="range"
        class="seek-range"
        min={0}
        max={Math.max(duration, 0.1)}
        step={0.01}
        aria-label={t('Position')}
        aria-valuetext={t('{time} of {length}', { time: formatDuration(second), length: formatDuration(duration) })}
        onInput={(event) => playback.seek(event.currentTarget.valueAsNumber)}
        onKeyDown={press}
      />
    </div>
  );
}

function Times({ playback }: { playback: Playback }) {
  return (
    <p class="player-times">
      <span class="player-time">{formatDuration(playback.second.value)}</span>
      <span class="player-duration"> / {formatDuration(playback.duration.value)}</span>
    </p>
  );
}

function Speed({ playback }: { playback: Playback }) {
  return (
    <label class="player-speed">
      <span class="visually-hidden">{t('Speed')}</span>
      <select
        value={String(playback.speed.value)}
        onChange={(event) => playback.setSpeed(Number(event.currentTarget.value))}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={String(speed)}>
            {speed}×
          </option>
        ))}
      </select>
    </label>
  );
}

function Problem({ playback }: { playback: Playback }) {
  const problem = playback.problem.value;
  return (
    <div role="alert">
      {problem && (
        <p class="player-problem">
          <span>{problem.text()}</span>
          {problem.mayPass && (
            <button type="button" class="button" onClick={() => void playback.play()}>
              {t('Try again')}
            </button>
          )}
        </p>
      )}
    </div>
  );
}
