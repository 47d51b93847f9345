import type { ComponentChildren } from 'preact';

import './badge.css';

export type BadgeTone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad' | 'busy';

/** A state in a word or two. `busy` is something that is under way. */
export function Badge({ tone = 'neutral', children }: { tone?: BadgeTone; children: ComponentChildren }) {
  return <span class={`badge is-${tone}`}>{children}</span>;
}
