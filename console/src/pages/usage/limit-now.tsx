import { rich, t } from '../../language/texts';
import { RequestsMeter, useRemaining } from '../../layout/limit-meter';
import { rateLimit } from '../../session/session';

/** What is left of the account's requests at this moment. It fills by itself. */
export function LimitNow() {
  const limit = rateLimit.value;
  const left = useRemaining(limit);
  if (!limit) return null;
  return (
    <section class="card" aria-labelledby="limit-title">
      <header class="card-header">
        <h2 id="limit-title">{t('Rate limit')}</h2>
      </header>
      <div class="card-body limit-now">
        <p class="figure">
          {rich('<b>{left}</b> <rest>of {limit} left</rest>', {
            left: String(left),
            limit: String(limit.limit),
            b: (words) => <strong>{words}</strong>,
            rest: (words) => <span class="muted">{words}</span>,
          })}
        </p>
        <RequestsMeter aria-labelledby="limit-title" limit={limit.limit} left={left} />
        <p class="muted small">
          {t(
            '{limit, number} requests a minute, shared by all keys of the account. After that a short burst is allowed, then requests are rejected with 429 and the time to wait.',
            { limit: limit.limit },
          )}
        </p>
      </div>
    </section>
  );
}
