import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { t } from '../language/texts';
import { Icon } from './icon';
import './toast.css';

export interface ToastOptions {
  /** One thing to do about it, such as `Undo`. The toast is closed by it. */
  action?: { label: string; run: () => void };
  /**
   * Milliseconds; by default longer with an action, and without end for what went wrong. The time stands still under the
   * pointer and the focus.
   */
  duration?: number;
  tone?: 'neutral' | 'bad';
  /** Runs when its time is over or it is closed, not after the action. */
  onEnd?: () => void;
}

interface ToastEntry extends ToastOptions {
  id: number;
  text: string;
}

const toasts = signal<readonly ToastEntry[]>([]);
let lastId = 0;

/** Shows a sentence for some seconds; a screen reader reads it. @returns a function that takes it away, without `onEnd` */
export function toast(text: string, options: ToastOptions = {}): () => void {
  lastId += 1;
  const entry = { id: lastId, text, ...options };
  toasts.value = [...toasts.value, entry];
  return () => remove(entry.id);
}

function remove(id: number): void {
  toasts.value = toasts.value.filter((other) => other.id !== id);
}

/** The region of the toasts; once, in the layout. */
export function Toasts() {
  return (
    <div class="toasts" role="region" aria-label={t('Messages')} aria-live="polite">
      {toasts.value.map((entry) => (
        <Toast key={entry.id} entry={entry} />
      ))}
    </div>
  );
}

function Toast({ entry }: { entry: ToastEntry }) {
  const end = () => {
    remove(entry.id);
    entry.onEnd?.();
  };
  const timer = useTimer(entry.duration ?? durationOf(entry), end);
  const act = () => {
    remove(entry.id);
    entry.action?.run();
  };
  return (
    <div
      class={`toast is-${entry.tone ?? 'neutral'}`}
      onPointerEnter={timer.pause}
      onPointerLeave={timer.resume}
      onFocusIn={timer.pause}
      onFocusOut={timer.resume}
    >
      <span class="toast-text" dir="auto">
        {entry.text}
      </span>
      {entry.action && (
        <button type="button" class="toast-action" onClick={act}>
          {entry.action.label}
        </button>
      )}
      <button type="button" class="toast-close" aria-label={t('Dismiss')} onClick={end}>
        <Icon name="close" size={18} />
      </button>
    </div>
  );
}

function durationOf({ action, tone }: ToastEntry): number {
  if (tone === 'bad') return Infinity;
  return action ? 8000 : 5000;
}

function useTimer(duration: number, end: () => void): { pause: () => void; resume: () => void } {
  const state = useRef({ left: duration, since: 0, timer: 0 }).current;
  const resume = () => {
    clearTimeout(state.timer);
    state.since = Date.now();
    if (state.left !== Infinity) state.timer = window.setTimeout(end, state.left);
  };
  const pause = () => {
    clearTimeout(state.timer);
    state.left = Math.max(1000, state.left - (Date.now() - state.since));
  };
  useEffect(() => {
    resume();
    return () => clearTimeout(state.timer);
  }, []);
  return { pause, resume };
}
