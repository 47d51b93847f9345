import type { ComponentChildren } from 'preact';

import { describeError } from '../../../components/describe-error';
import { Icon, type IconName } from '../../../components/icon';
import { toast } from '../../../components/toast';

interface NoticeProps {
  tone?: 'is-warn' | 'is-bad' | '';
  icon: IconName;
  children: ComponentChildren;
}

export function Notice({ tone = '', icon, children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`}>
      <Icon name={icon} />
      <div class="notice-text">{children}</div>
    </div>
  );
}

/** @param what did not work, as a sentence */
export function toastError(what: string, error: unknown): void {
  const { title, hint } = describeError(error);
  toast(`${what} ${title}. ${hint}`, { tone: 'bad' });
}
