import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { navigate } from '../../../routing/hash-location';

export interface LeaveGuard {
  /** The link that waits for an answer. */
  target: string | null;
  stay: () => void;
  leave: () => void;
}

/** Asks before the tab is closed or a link is followed while there are changes. */
export function useLeaveGuard(isChanged: () => boolean): LeaveGuard {
  const target = useSignal<string | null>(null);
  useEffect(() => {
    const { signal, abort } = withAbort();
    const warn = (event: BeforeUnloadEvent) => isChanged() && event.preventDefault();
    const follow = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
      const isHere = link instanceof HTMLAnchorElement && link.target !== '_blank' && !link.download;
      if (!isHere || event.ctrlKey || event.metaKey || event.shiftKey || !isChanged()) return;
      event.preventDefault();
      event.stopPropagation();
      target.value = link.href;
    };
    addEventListener('beforeunload', warn, { signal });
    addEventListener('click', follow, { signal, capture: true });
    return abort;
  }, [isChanged]);
  return {
    target: target.value,
    stay: () => (target.value = null),
    leave: () => {
      const { hash } = new URL(target.value ?? location.href);
      target.value = null;
      navigate(hash.slice(1) || '/');
    },
  };
}

function withAbort(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
