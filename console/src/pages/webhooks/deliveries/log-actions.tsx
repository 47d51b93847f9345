import { Icon } from '../../../components/icon';

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
        Refresh
      </button>
      <button type="button" class="button" onClick={onRedeliver}>
        Send again…
      </button>
    </div>
  );
}
