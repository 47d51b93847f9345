import { useSignal } from '@preact/signals';
import type { ApiKey } from 'vnotes';

import { Dialog } from '../../components/dialog';
import { t } from '../../language/texts';
import { type ShownSecret, ShownOnce } from '../../secrets/shown-once';
import { CreateKeyForm } from './create-key-form';

interface Props {
  own: ApiKey | undefined;
  open: boolean;
  onClose: () => void;
  onCreated: () => void;
}

/** The form, and afterwards both halves of the key. */
export function CreateKey({ own, open, onClose, onCreated }: Props) {
  const shown = useSignal<{ name: string; secrets: ShownSecret[] } | null>(null);
  if (shown.value) {
    return (
      <ShownOnce
        title={t('Key created')}
        hint={t(
          '“{name}” has two parts. Send both with every request, as X-Service-API-Key and X-Service-API-Secret.',
          { name: shown.value.name },
        )}
        secrets={shown.value.secrets}
        onDone={() => (shown.value = null)}
      />
    );
  }
  return (
    <Dialog open={open} title={t('New API key')} wide onClose={onClose}>
      {open && (
        <CreateKeyForm
          own={own}
          onClose={onClose}
          onCreated={({ name, api_key, api_secret }) => {
            const secrets = [
              { label: t('API key'), value: api_key },
              { label: t('API secret'), value: api_secret },
            ];
            shown.value = { name, secrets };
            onClose();
            onCreated();
          }}
        />
      )}
    </Dialog>
  );
}
