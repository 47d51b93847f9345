import { recorder } from '../../capture/recorder';
import { Dialog } from '../../components/dialog';
import { formatDuration } from '../../format/duration';
import { rich, t } from '../../language/texts';

export function DiscardDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const discard = () => {
    onClose();
    void recorder.discard();
  };
  return (
    <Dialog open={open} title={t('Discard this recording?')} onClose={onClose}>
      <p>
        {rich('This deletes {time} of audio and cannot be undone.', {
          time: <span class="numbers">{formatDuration(recorder.seconds.value)}</span>,
        })}
      </p>
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          {t('Cancel')}
        </button>
        <button type="button" class="button is-danger is-primary" onClick={discard}>
          {t('Discard')}
        </button>
      </div>
    </Dialog>
  );
}
