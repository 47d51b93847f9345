import { useEffect } from 'preact/hooks';

import { CopyButton } from '../components/copy-button';
import { Dialog } from '../components/dialog';
import { Icon } from '../components/icon';
import { t } from '../language/texts';
import './shown-once.css';

export interface ShownSecret {
  label: string;
  value: string;
}

interface Props {
  title: string;
  /** What the secrets are for. */
  hint: string;
  secrets: readonly ShownSecret[];
  onDone: () => void;
}

/** Shows what the service tells once. Only its last button closes it: Escape, a click beside it and a reload do not. */
export function ShownOnce({ title, hint, secrets, onDone }: Props) {
  useEffect(() => {
    const warn = (event: Event) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, []);
  const several = secrets.length > 1;
  return (
    <Dialog open persistent title={title} onClose={onDone}>
      <p class="notice is-warn">
        <Icon name="alert" />
        <span>
          <strong>{several ? t('Save them now.') : t('Save it now.')}</strong>{' '}
          {t('You will not be able to see it again.')}
        </span>
      </p>
      <p>{hint}</p>
      {secrets.map(({ label, value }) => (
        <div key={label} class="shown-once">
          <span class="shown-once-label">{label}</span>
          <code class="shown-once-value">{value}</code>
          <CopyButton text={value} label={t('Copy {what}', { what: label })} iconOnly />
        </div>
      ))}
      <div class="form-actions">
        {several && <CopyButton text={secrets.map(({ value }) => value).join('\n')} label={t('Copy both')} />}
        <button type="button" class="button is-primary" onClick={onDone}>
          {several ? t('I have saved them') : t('I have saved it')}
        </button>
      </div>
    </Dialog>
  );
}
