import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { holdPage, navigate } from '../../../routing/hash-location';

export interface LeaveGuard {
  /** Whether the person wants to go and has not answered yet. */
  isAsking: boolean;
  stay: () => void;
  leave: () => void;
}

/** Asks before the tab is closed, a link is followed or the browser goes back while there are changes. */
export function useLeaveGuard(isChanged: () => boolean): LeaveGuard {
  const leaving = useSignal<(() => void) | null>(null);
  useEffect(() => {
    const { signal, abort } = withAbort();
    const warn = (event: BeforeUnloadEvent) => isChanged() && event.preventDefault();
    const follow = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
      const isHere = link instanceof HTMLAnchorElement && link.target !== '_blank' && !link.download;
      if (!isHere || event.ctrlKey || event.metaKey || event.shiftKey || !isChanged()) return;
      event.preventDefault();
      event.stopPropagation();
      leaving.value = () => navigate(new URL(link.href).hash.slice(1) || '/');
    };
    const release = holdPage((leave) => {
      if (!isChanged()) return false;
      leaving.value = leave;
      return true;
    });
    signal.addEventListener('abort', release);
    addEventListener('beforeunload', warn, { signal });
    addEventListener('click', follow, { signal, capture: true });
    return abort;
  }, [isChanged]);
  return {
    isAsking: leaving.value !== null,
    stay: () => (leaving.value = null),
    leave: () => {
      const leave = leaving.value;
      leaving.value = null;
      leave?.();
    },
  };
}

function withAbort(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
