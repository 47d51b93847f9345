import { useEffect, useState } from 'preact/hooks';

import { Icon } from '../components/icon';
import { rich } from '../language/texts';
import { throttledUntil } from '../session/session';

/** After a 429: how long the console waits before it goes on by itself. */
export function ThrottleNotice() {
  const until = throttledUntil.value;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    if (until <= Date.now()) return undefined;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= until) clearInterval(timer);
    }, 250);
    return () => clearInterval(timer);
  }, [until]);
  const seconds = Math.ceil((until - now) / 1000);
  return (
    <div role="status">
      {seconds > 0 && (
        <p class="notice is-warn throttle-notice">
          <Icon name="clock" />
          <span>
            {rich('Too many requests. The console continues automatically<time> in {seconds} s</time>.', {
              seconds,
              time: (words) => (
                <span class="numbers" aria-hidden="true">
                  {words}
                </span>
              ),
            })}
          </span>
        </p>
      )}
    </div>
  );
}
