import { Icon } from '../../../components/icon';
import { t } from '../../../language/texts';
import { may } from '../../../session/permissions';

interface Props {
  isBusy: boolean;
  onRefresh: () => void;
  onRedeliver: () => void;
}

export function LogActions({ isBusy, onRefresh, onRedeliver }: Props) {
  return (
    <div class="actions">
      <button type="button" class="button" disabled={isBusy} onClick={onRefresh}>
        <Icon name="retry" />
        {t('Refresh')}
      </button>
      {may('webhooks:write') && (
        <button type="button" class="button" onClick={onRedeliver}>
          {t('Resend…')}
        </button>
      )}
    </div>
  );
}
