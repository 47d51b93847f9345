import { useEffect, useState } from 'preact/hooks';

import { t } from '../language/texts';
import { Icon } from './icon';
import { toast } from './toast';

const SHOWN_MS = 2000;

/**
 * Copies a text.
 * @param label what is copied, for its name: `Copy the request id`; shown when `children` would be
 */
export function CopyButton({ text, label = t('Copy'), iconOnly = false }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // Only a page of https or of this computer may write to the clipboard.
      toast(t('The browser blocks copying here. Select the text and copy it yourself.'));
    }
  };
  return (
    <button
      type="button"
      class={iconOnly ? 'button is-quiet is-icon' : 'button'}
      aria-label={iconOnly ? label : undefined}
      title={iconOnly ? label : undefined}
      onClick={() => void copy()}
    >
      <Icon name={copied ? 'check' : 'copy'} />
      {!iconOnly && <span>{copied ? t('Copied') : label}</span>}
      <span class="visually-hidden" role="status">
        {copied && iconOnly ? t('Copied') : ''}
      </span>
    </button>
  );
}

interface CopyButtonProps {
  text: string;
  /** What the button says, or is named when it shows the icon only. */
  label?: string;
  iconOnly?: boolean;
}
