import { useCallback } from 'preact/hooks';

import { Dialog } from '../../../components/dialog';
import { t } from '../../../language/texts';
import type { Correction } from './correction';
import { useLeaveGuard } from './use-leave-guard';

/** Asks what is to become of a correction that is not saved. */
export function LeaveDialog({ correction }: { correction: Correction }) {
  const guard = useLeaveGuard(useCallback(() => correction.isChanged, [correction]));
  const leaveWithout = async () => {
    await correction.discard();
    guard.leave();
  };
  return (
    <Dialog open={guard.isAsking} title={t('Leave without saving?')} onClose={guard.stay}>
      <p>{t('Your correction is not saved. You can keep it on this device as a draft.')}</p>
      <div class="dialog-actions">
        <button type="button" class="button is-primary" onClick={guard.leave}>
          {t('Keep draft and leave')}
        </button>
        <button type="button" class="button is-danger" onClick={() => void leaveWithout()}>
          {t('Discard and leave')}
        </button>
        <button type="button" class="button" onClick={guard.stay}>
          {t('Stay')}
        </button>
      </div>
    </Dialog>
  );
}
