import type { Signal } from '@preact/signals';

import { Icon } from '../../../components/icon';

interface Props {
  follows: Signal<boolean>;
  isBusy: boolean;
  onRefresh: () => void;
  onRedeliver: () => void;
}

export function LogActions({ follows, isBusy, onRefresh, onRedeliver }: Props) {
  return (
    <div class="actions">
      <button
        type="button"
        class="button"
        aria-pressed={follows.value}
        title="Show new deliveries as they are sent"
        onClick={() => (follows.value = !follows.value)}
      >
        Follow
      </button>
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
