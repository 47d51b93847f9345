import { Badge } from '../../../components/badge';
import { formatDate } from '../../../format/date';
import { t } from '../../../language/texts';
import { type Attempt, isSuccess, outcomeAdvice, outcomeTitle, prettyJson } from './outcome';

/** One attempt: what came back, when, how fast, and what to do if it was no success. */
export function AttemptView({ attempt, numbered = false }: { attempt: Attempt; numbered?: boolean }) {
  const { number, started_at, duration_ms, response } = attempt;
  const advice = outcomeAdvice(attempt);
  return (
    <div class="attempt stack-small">
      <p class="attempt-head">
        <Badge tone={isSuccess(attempt) ? 'good' : 'bad'}>{isSuccess(attempt) ? t('Delivered') : t('Failed')}</Badge>
        <strong dir="auto">{outcomeTitle(attempt)}</strong>
        <span class="muted small numbers">
          {numbered
            ? t('attempt {number} · {date} · {ms, number} ms', {
                number,
                date: formatDate(started_at),
                ms: duration_ms,
              })
            : t('{date} · {ms, number} ms', { date: formatDate(started_at), ms: duration_ms })}
        </span>
      </p>
      {advice !== null && <p>{advice}</p>}
      {response !== null && <Answer text={response} attempt={number} />}
    </div>
  );
}

function Answer({ text, attempt }: { text: string; attempt: number }) {
  if (text === '') return <p class="muted small">{t('The response had no body.')}</p>;
  return (
    <div class="stack-small">
      <p class="muted small">{t('Response (first 1 KiB):')}</p>
      <pre
        class="code"
        tabIndex={0}
        role="region"
        aria-label={t('Response to attempt {attempt}', { attempt })}
        dir="auto"
      >
        {prettyJson(text)}
      </pre>
    </div>
  );
}
