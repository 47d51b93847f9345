import { recorder } from '../../capture/recorder';
import { Dialog } from '../../components/dialog';
import { formatDuration } from '../../format/duration';

export function DiscardDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const discard = () => {
    onClose();
    void recorder.discard();
  };
  return (
    <Dialog open={open} title="Discard this recording?" onClose={onClose}>
      <p>
        This deletes <span class="numbers">{formatDuration(recorder.seconds.value)}</span> of audio and cannot be
        undone.
      </p>
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button is-danger is-primary" onClick={discard}>
          Discard
        </button>
      </div>
    </Dialog>
  );
}
