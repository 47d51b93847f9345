import { useSignal } from '@preact/signals';

import { Dialog } from '../../components/dialog';
import { Field } from '../../components/field';
import { toast } from '../../components/toast';
import { fieldError, formError } from '../../forms/field-errors';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { api } from '../../session/api';

/** Voids the tokens with which the apps of end users upload: those of one, or all. */
export function AccessTokens() {
  const identity = useSignal('');
  const confirmingAll = useSignal(false);
  const { busy, error, run } = useSubmit();
  const voidOne = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await api().accessTokens.void({ identity: identity.value });
      toast(t('The tokens of this end user are now void.'));
      identity.value = '';
    });
  };
  return (
    <section class="card" aria-labelledby="tokens-title">
      <header class="card-header">
        <h2 id="tokens-title">{t('Access tokens')}</h2>
      </header>
      <div class="card-body form">
        <p class="muted">
          {t(
            'Your server issues short-lived tokens that the apps of your end users upload with. Void them to reject all tokens issued so far. Tokens issued afterwards work.',
          )}
        </p>
        <form class="inline-form" onSubmit={voidOne}>
          <Field label={t('End user')} error={fieldError(error.value, 'identity')}>
            <input
              required
              maxLength={255}
              autocomplete="off"
              dir="auto"
              placeholder="user-42"
              value={identity.value}
              onInput={(event) => (identity.value = event.currentTarget.value)}
            />
          </Field>
          <button type="submit" class="button" disabled={busy.value}>
            {t('Void tokens')}
          </button>
          <button type="button" class="button is-danger" onClick={() => (confirmingAll.value = true)}>
            {t('Void all tokens…')}
          </button>
        </form>
        <FormError error={formError(error.value, ['identity'])} />
      </div>
      <VoidAll open={confirmingAll.value} onClose={() => (confirmingAll.value = false)} />
    </section>
  );
}

function VoidAll({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { busy, error, run } = useSubmit();
  const voidAll = () =>
    void run(async () => {
      await api().accessTokens.void();
      toast(t('All access tokens are now void.'));
      onClose();
    });
  return (
    <Dialog open={open} title={t('Void all access tokens?')} onClose={onClose}>
      <p>
        {t('Apps that upload with a token are rejected until your server issues a new one. API keys are not affected.')}
      </p>
      <FormError error={error.value} />
      <FormActions
        label={t('Void all tokens')}
        busyLabel={t('Voiding…')}
        isBusy={busy.value}
        isDanger
        onCancel={onClose}
        onConfirm={voidAll}
      />
    </Dialog>
  );
}
