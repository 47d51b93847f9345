import { useSignal } from '@preact/signals';
import type { ApiKey } from 'vnotes';

import { Dialog } from '../../components/dialog';
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
        title="Key created"
        hint={`“${shown.value.name}” has two parts. Send both with every request, as X-Service-API-Key and X-Service-API-Secret.`}
        secrets={shown.value.secrets}
        onDone={() => (shown.value = null)}
      />
    );
  }
  return (
    <Dialog open={open} title="New API key" wide onClose={onClose}>
      {open && (
        <CreateKeyForm
          own={own}
          onClose={onClose}
          onCreated={({ name, api_key, api_secret }) => {
            const secrets = [
              { label: 'API key', value: api_key },
              { label: 'API secret', value: api_secret },
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
