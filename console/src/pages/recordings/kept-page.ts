import type { VoiceNotes } from 'vnotes';

import { beginnings, liveState, onLiveEvent } from '../../session/live-events';
import { client } from '../../session/session';
import { arrived } from '../../uploads/upload-list';

export type Page = Awaited<ReturnType<VoiceNotes['recordings']['list']>>;

interface KeptPage {
  api: VoiceNotes | null;
  request: string;
  page: Page;
  /** What had happened when the page was asked for. */
  history: number;
}

let kept: KeptPage | null = null;
let events = 0;

onLiveEvent(() => {
  events += 1;
});

/** Grows with all that may change a list. No event tells at once of what this browser sends. */
export const historyNow = (): number => events + beginnings.peek() + arrived.peek();

/** @param history from before the page was asked for, while events arrive; else -1, because nothing tells of a change */
export function keepPage(request: string, page: Page, history: number): void {
  kept = { api: client.peek(), request, page, history };
}

/** What was shown last, also if it may be old: there at once on the way back from a note. */
export function keptPage(request: string): Page | undefined {
  return kept?.api === client.peek() && kept?.request === request ? kept.page : undefined;
}

/** The same while nothing has happened since, as the events tell: then it need not be asked for again. */
export function currentPage(request: string): Page | undefined {
  return liveState.peek() === 'live' && kept?.history === historyNow() ? keptPage(request) : undefined;
}

/** The next one is asked for in any case. */
export function outdatePage(): void {
  if (kept) kept.history = -1;
}
