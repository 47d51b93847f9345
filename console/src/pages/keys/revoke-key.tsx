import { type Signal, useSignal } from '@preact/signals';
import type { ApiKey } from 'vnotes';

import { Dialog } from '../../components/dialog';
import { Icon } from '../../components/icon';
import { toast } from '../../components/toast';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { api } from '../../session/api';
import { signOut } from '../../session/session';
import '../../forms/choices.css';

interface Props {
  /** Null while the dialog is closed. */
  apiKey: ApiKey | null;
  own: ApiKey | undefined;
  onClose: () => void;
  onRevoked: () => void;
}

export function RevokeKey({ apiKey, own, onClose, onRevoked }: Props) {
  return (
    <Dialog open={apiKey !== null} title={t('Revoke this key?')} onClose={onClose}>
      {apiKey && <Confirmation apiKey={apiKey} isOwn={apiKey.id === own?.id} onClose={onClose} onRevoked={onRevoked} />}
    </Dialog>
  );
}

interface ConfirmationProps {
  apiKey: ApiKey;
  isOwn: boolean;
  onClose: () => void;
  onRevoked: () => void;
}

function Confirmation({ apiKey, isOwn, onClose, onRevoked }: ConfirmationProps) {
  const descendants = useSignal(false);
  const { busy, error, run } = useSubmit();
  const revoke = () =>
    void run(async () => {
      await api().keys.revoke(apiKey.id, { descendants: descendants.value });
      onClose();
      if (isOwn) return signOut();
      toast(t('Key revoked.'));
      onRevoked();
    });
  return (
    <div class="form">
      <p>
        <strong dir="auto">{apiKey.name}</strong> <code class="muted">{apiKey.key_prefix}…</code>
      </p>
      <p>{t('Requests with this key are rejected from now on. This cannot be undone.')}</p>
      {isOwn && <OwnKeyWarning />}
      <DescendantsChoice descendants={descendants} />
      <FormError error={error.value} />
      <FormActions
        label={isOwn ? t('Revoke and sign out') : t('Revoke key')}
        busyLabel={t('Revoking…')}
        isBusy={busy.value}
        isDanger

        onCancel={onClose}
        onConfirm={revoke}
      />
    </div>
  );
}

function OwnKeyWarning() {
  return (
    <p class="notice is-warn">
      <Icon name="alert" />
      <span>
        {t('You are signed in with this key. Revoking it signs you out. You need another key to sign in again.')}
      </span>
    </p>
  );
}

function DescendantsChoice({ descendants }: { descendants: Signal<boolean> }) {
  return (
    <label class="choice">
      <input
        type="checkbox"
        checked={descendants.value}
        onChange={(event) => (descendants.value = event.currentTarget.checked)}
      />
      <span>
        {t('Also revoke the keys that it created')}
        <span class="choice-hint">
          {t(
            'Including keys that those created. Choose this if the key has leaked: someone may have created others with it.',
          )}
        </span>
      </span>
    </label>
  );
}
