import type { ComponentChildren, RefObject } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

import { t } from '../language/texts';
import { Icon } from './icon';
import './dialog.css';

interface DialogProps {
  open: boolean;
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Shown once and lost after it: only its own buttons close it, not Escape or a click beside it. */
  persistent?: boolean;
  wide?: boolean;
  /** Shown beside it, where there is room, instead of in the middle. */
  opener?: RefObject<HTMLElement | null>;
}

/** A modal dialog. Its content exists only while it is open. */
export function Dialog({ open, title, onClose, children, opener, persistent = false, wide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (open && dialog && !dialog.open) dialog.showModal();
    if (!open && dialog?.open) dialog.close();
  }, [open]);
  usePlaceBeside(ref, open, opener);
  // Closed before it is removed: only then does the browser give the focus back to what opened it.
  useLayoutEffect(() => {
    const dialog = ref.current;
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={['dialog', ...(wide ? ['is-wide'] : []), ...(opener ? ['is-beside'] : [])].join(' ')}
      aria-labelledby={heading}
      onCancel={(event) => {
        // The state of the page decides: it is closed by the effect.
        event.preventDefault();
        if (!persistent) onClose();
      }}
      // Chromium closes at the second Escape without asking. The event comes late: the dialog may be open again.
      onClose={() => {
        if (!open || !ref.current || ref.current.open) return;
        if (persistent) ref.current.showModal();
        else onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === ref.current && !persistent) onClose();
      }}
    >
      {open && (
        <div class="dialog-content">
          <header class="dialog-header">
            <h2 id={heading}>{title}</h2>
            {!persistent && (
              <button type="button" class="button is-quiet is-icon" aria-label={t('Close')} onClick={onClose}>
                <Icon name="close" />
              </button>
            )}
          </header>
          {children}
        </div>
      )}
    </dialog>
  );
}

/** Tells the style sheet where the opener ends, as `--opener-x` and `--opener-y`, also when that moves. */
function usePlaceBeside(
  ref: RefObject<HTMLDialogElement | null>,
  open: boolean,
  opener: RefObject<HTMLElement | null> | undefined,
) {
  useLayoutEffect(() => {
    if (!open || !opener) return undefined;
    const place = () => {
      const { right = 0, bottom = 0 } = opener.current?.getBoundingClientRect() ?? {};
      ref.current?.style.setProperty('--opener-x', `${right}px`);
      ref.current?.style.setProperty('--opener-y', `${bottom}px`);
    };
    place();
    addEventListener('resize', place);
    addEventListener('scroll', place);
    return () => {
      removeEventListener('resize', place);
      removeEventListener('scroll', place);
    };
  }, [open]);
}
