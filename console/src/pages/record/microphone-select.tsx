import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { microphones } from '../../capture/microphone';
import { Field } from '../../components/field';
import { t } from '../../language/texts';

/** Empty for the system's choice. */
export const microphoneId = signal('');

/** Appears when there is a choice: browsers name the microphones once one was allowed. */
export function MicrophoneSelect({ disabled }: { disabled: boolean }) {
  const devices = useSignal<MediaDeviceInfo[]>([]);
  useEffect(() => {
    const end = new AbortController();
    const load = () => void microphones().then((found) => (devices.value = found));
    load();
    navigator.mediaDevices?.addEventListener('devicechange', load, { signal: end.signal });
    return () => end.abort();
  }, []);
  // The system's choice is in the list too, under a name of its own.
  const named = devices.value.filter(({ deviceId }) => deviceId !== 'default' && deviceId !== 'communications');
  if (named.length < 2) return null;
  const chosen = named.some(({ deviceId }) => deviceId === microphoneId.value) ? microphoneId.value : '';
  return (
    <div class="recorder-microphone">
      <Field label={t('Microphone')}>
        <select
          value={chosen}
          disabled={disabled}
          onChange={(event) => (microphoneId.value = event.currentTarget.value)}
        >
          <option value="">{t('System default')}</option>
          {named.map(({ deviceId, label }) => (
            <option key={deviceId} value={deviceId}>
              {label}
            </option>
          ))}
        </select>
      </Field>
    </div>
  );
}
