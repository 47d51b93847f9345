import type { VoiceNotes } from 'vnotes';

import { formatBytes } from '../../format/bytes';
import { formatDay } from '../../format/date';
import { formatHours } from './format-hours';

type Quota = Awaited<ReturnType<VoiceNotes['account']['quotas']>>['quotas'][number];

const QUOTAS: Record<Quota['quota'], { title: string; hint: string; format: (n: number) => string }> = {
  stored_bytes: { title: 'Stored audio', hint: 'Delete recordings to free space.', format: formatBytes },
  audio_seconds_per_month: { title: 'Audio this month', hint: 'Includes deleted recordings.', format: formatHours },
  queued_audio_seconds: { title: 'Queued audio', hint: 'Waiting for transcription.', format: formatHours },
  concurrent_uploads: { title: 'Concurrent uploads', hint: 'In progress now.', format: String },
};

export function Quotas({ quotas }: { quotas: readonly Quota[] }) {
  return (
    <section class="card" aria-labelledby="quotas-title">
      <header class="card-header">
        <h2 id="quotas-title">Quotas</h2>
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
        <strong id={id}>{title}</strong>
        <span class="numbers">
          {format(used)} <span class="muted">{limit === null ? 'used, no limit' : `of ${format(limit)}`}</span>
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
      <p class="muted small">{resets_at === null ? hint : `${hint} Resets on ${formatDay(resets_at)}.`}</p>
    </li>
  );
}
