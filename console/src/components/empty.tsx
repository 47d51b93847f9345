import type { ComponentChildren } from 'preact';

import { Icon, type IconName } from './icon';
import './states.css';

interface EmptyProps {
  title: string;
  hint?: ComponentChildren;
  action?: ComponentChildren;
  icon?: IconName;
}

/** Nothing is there: says what would be, and how it comes. */
export function Empty({ title, hint, action, icon = 'waveform' }: EmptyProps) {
  return (
    <div class="state is-empty">
      <span class="state-icon">
        <Icon name={icon} size={28} />
      </span>
      <h2>{title}</h2>
      {hint && <p class="state-hint">{hint}</p>}
      {action && <div class="actions">{action}</div>}
    </div>
  );
}
