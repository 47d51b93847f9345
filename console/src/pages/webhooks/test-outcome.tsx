import { Icon } from '../../components/icon';
import { t } from '../../language/texts';
import { AttemptView } from './deliveries/attempt-view';
import type { Attempt } from './deliveries/outcome';

/** What came back from a test request. */
export function TestOutcome({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) {
  return (
    <section class="card" aria-labelledby="test-title">
      <header class="card-header">
        <h2 id="test-title">{t('Test request')}</h2>
        <button type="button" class="button is-quiet is-icon" aria-label={t('Close the result')} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="card-body">
        <AttemptView attempt={attempt} />
      </div>
    </section>
  );
}
