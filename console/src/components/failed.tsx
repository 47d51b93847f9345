import { useEffect, useState } from 'preact/hooks';

import { t } from '../language/texts';
import { describeError } from './describe-error';
import { Icon } from './icon';
import './states.css';

/** What was asked for did not come: why, and what to do. What may pass is tried again by itself. */
export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, hint, requestId, retryInSeconds } = describeError(error);
  const left = useCountdown(onRetry ? retryInSeconds : null, error, onRetry);
  useEffect(() => {
    if (!onRetry) return undefined;
    addEventListener('online', onRetry, { once: true });
    return () => removeEventListener('online', onRetry);
  }, [onRetry]);
  return (
    <div class="state is-failed" role="alert">
      <span class="state-icon">
        <Icon name="alert" size={28} />
      </span>
      <h2>{title}</h2>
      <p class="state-hint">{hint}</p>
      {left !== null && <p class="numbers">{t('Trying again in {left} s.', { left })}</p>}
      {requestId && (
        <p class="state-request muted">
          {t('Request ID')} <code>{requestId}</code>
        </p>
      )}
      {onRetry && (
        <div class="actions">
          <button type="button" class="button" onClick={onRetry}>
            <Icon name="retry" />
            {t('Try again')}
          </button>
        </div>
      )}
    </div>
  );
}

/** Seconds until `onEnd` runs; null when there is nothing to wait for. */
function useCountdown(seconds: number | null, cause: unknown, onEnd?: () => void): number | null {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    setLeft(seconds);
    if (seconds === null) return undefined;
    const end = Date.now() + seconds * 1000;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((end - Date.now()) / 1000));
      setLeft(rest);
      if (rest > 0) return;
      clearInterval(timer);
      onEnd?.();
    }, 250);
    return () => clearInterval(timer);
  }, [cause]);
  return left;
}
