import { useEffect, useState } from 'preact/hooks';
import type { RateLimit } from 'vnotes';

import { t } from '../language/texts';
import { remainingAt } from '../session/pacing';
import { rateLimit } from '../session/session';

/** Requests that are left before the account is slowed down. The bucket fills by itself between two answers. */
export function LimitMeter() {
  const limit = rateLimit.value;
  const left = useRemaining(limit);
  if (!limit) return null;
  return (
    <div class="limit-meter small">
      <span class="limit-meter-label">
        <span class="muted">{t('Requests left')}</span>
        <span class="numbers">{t('{left} of {limit}', { left, limit: limit.limit })}</span>
      </span>
      <RequestsMeter aria-label={t('Requests left in this minute')} limit={limit.limit} left={left} />
    </div>
  );
}

interface MeterProps {
  limit: number;
  left: number;
  'aria-label'?: string;
  'aria-labelledby'?: string;
}

/** Low, and coloured so, from a quarter of the limit down. */
export function RequestsMeter({ limit, left, ...label }: MeterProps) {
  return <meter {...label} min={0} max={limit} low={limit / 4} high={limit / 3} optimum={limit} value={left} />;
}

/** It fills by itself between two answers. */
export function useRemaining(limit: RateLimit | null): number {
  const [now, setNow] = useState(0);
  useEffect(() => {
    const told = Date.now();
    setNow(told);
    if (!limit || limit.remaining >= limit.limit) return undefined;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= limit.reset.getTime()) clearInterval(timer);
    }, 1000);
    return () => clearInterval(timer);
  }, [limit]);
  if (!limit) return 0;
  return remainingAt(limit, now);
}
