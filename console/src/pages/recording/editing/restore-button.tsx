import { useSignal } from '@preact/signals';

import { Icon } from '../../../components/icon';
import { toast } from '../../../components/toast';
import { t } from '../../../language/texts';
import type { Note } from '../note';
import { toastError } from '../panels/notice';
import type { Original } from './use-original';

/** Goes back to what the engine heard. The correction can be had back while the message is shown. */
export function RestoreButton({ note, original }: { note: Note; original: Original }) {
  const isSending = useSignal(false);
  const restore = async () => {
    const corrected = note.transcription.peek()?.text ?? '';
    const undo = () =>
      void note
        .correct(corrected, null)
        .catch((error: unknown) => toastError(t('The correction could not be restored.'), error));
    isSending.value = true;
    try {
      await note.removeCorrection();
      original.hide();
      toast(t('Original restored.'), { action: { label: t('Undo'), run: undo } });
    } catch (error) {
      toastError(t('The original could not be restored.'), error);
    }
    isSending.value = false;
  };
  return (
    <button type="button" class="button" disabled={isSending.value} onClick={() => void restore()}>
      <Icon name="undo" />
      <span>{t('Restore original')}</span>
    </button>
  );
}
