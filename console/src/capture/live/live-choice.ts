import { computed, signal } from '@preact/signals';

import { currentKey, isTestKey } from '../../session/session';

const KEY = 'vnotes.live-words';

/** Whether words are to be shown while one records. It is kept in this browser. */
export const wantsLiveWords = signal(localStorage.getItem(KEY) !== 'off');

export function chooseLiveWords(isWanted: boolean): void {
  wantsLiveWords.value = isWanted;
  localStorage.setItem(KEY, isWanted ? 'on' : 'off');
}

/** A test key gets no words. */
export const mayLiveWords = computed(() => !isTestKey(currentKey.value));

export const takesLiveWords = computed(() => wantsLiveWords.value && mayLiveWords.value);
