import { signal } from '@preact/signals';

import type { TextWord } from './words';

/** What the reader can choose: words below it are marked. At 0 none is. */
export const UNSURE_LEVELS = [0, 0.3, 0.45, 0.6, 0.75, 0.9] as const;
/** Below it fewer than six of ten words are right. */
const DEFAULT_LEVEL = 0.6;
const KEY = 'vnotes.unsure-below';

/** The confidence below which words are marked as unsure, on this device. */
export const unsureBelow = signal(savedLevel());

export function markUnsureBelow(level: number): void {
  unsureBelow.value = level;
  localStorage.setItem(KEY, String(level));
}

export const isUnsure = ({ confidence }: Pick<TextWord, 'confidence'>): boolean =>
  confidence !== null && confidence < unsureBelow.value;

/** Whether there is a choice that marks it. */
export const mayBeUnsure = ({ confidence }: Pick<TextWord, 'confidence'>): boolean =>
  confidence !== null && confidence < Math.max(...UNSURE_LEVELS);

function savedLevel(): number {
  const saved = globalThis.localStorage?.getItem(KEY) ?? null;
  return UNSURE_LEVELS.find((level) => saved === String(level)) ?? DEFAULT_LEVEL;
}
