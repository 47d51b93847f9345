import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

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
}

/** A modal dialog. Its content exists only while it is open. */
export function Dialog({ open, title, onClose, children, persistent = false, wide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (open && dialog && !dialog.open) dialog.showModal();
    if (!open && dialog?.open) dialog.close();
  }, [open]);
  // Closed before it is removed: only then does the browser give the focus back to what opened it.
  useLayoutEffect(() => {
    const dialog = ref.current;
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? 'dialog is-wide' : 'dialog'}
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
              <button type="button" class="button is-quiet is-icon" aria-label="Close" onClick={onClose}>
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
