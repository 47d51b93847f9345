import type { ComponentChildren } from 'preact';
import type { VoiceNotes } from 'vnotes';

import { formatBytes } from '../../format/bytes';
import { formatDay } from '../../format/date';
import { rich, t, type Text } from '../../language/texts';
import { formatHours } from './format-hours';

type Quota = Awaited<ReturnType<VoiceNotes['account']['quotas']>>['quotas'][number];

const QUOTAS: Record<Quota['quota'], { title: Text; hint: Text; format: (n: number) => string }> = {
  stored_bytes: { title: 'Stored audio', hint: 'Delete recordings to free space.', format: formatBytes },
  audio_seconds_per_month: { title: 'Audio this month', hint: 'Includes deleted recordings.', format: formatHours },
  queued_audio_seconds: { title: 'Queued audio', hint: 'Waiting for transcription.', format: formatHours },
  concurrent_uploads: { title: 'Concurrent uploads', hint: 'In progress now.', format: String },
};

export function Quotas({ quotas }: { quotas: readonly Quota[] }) {
  return (
    <section class="card" aria-labelledby="quotas-title">
      <header class="card-header">
        <h2 id="quotas-title">{t('Quotas')}</h2>
      </header>
      <ul class="quotas">
        {quotas.map((quota) => (
          <QuotaLine key={quota.quota} quota={quota} />
        ))}
      </ul>
    </section>
  );
}

function QuotaLine({ quota: { quota, limit, used, resets_at } }: { quota: Quota }) {
  const { title, hint, format } = QUOTAS[quota];
  const id = `quota-${quota}`;
  return (
    <li class="quota">
      <p class="quota-head">
        <strong id={id}>{t(title)}</strong>
        <span class="numbers">
          {limit === null
            ? rich('{used} <rest>used, no limit</rest>', { used: format(used), rest: muted })
            : rich('{used} <rest>of {limit}</rest>', { used: format(used), limit: format(limit), rest: muted })}
        </span>
      </p>
      {limit !== null && (
        <meter
          aria-labelledby={id}
          min={0}
          max={limit}
          low={limit * 0.8}
          high={limit * 0.95}
          optimum={0}
          value={used}
        />
      )}
      <p class="muted small">
        {resets_at === null ? t(hint) : t('{hint} Resets on {day}.', { hint: t(hint), day: formatDay(resets_at) })}
      </p>
    </li>
  );
}

const muted = (words: ComponentChildren) => <span class="muted">{words}</span>;
