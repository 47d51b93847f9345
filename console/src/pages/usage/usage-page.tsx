import { t } from '../../language/texts';
import type { Account } from '../../session/account';
import { Failed } from '../../components/failed';
import { Loading } from '../../components/loading';
import { useAsync } from '../../hooks/use-async';
import { PageHeader } from '../../layout/page-header';
import { api } from '../../session/api';
import { Breakdown } from './breakdown';
import { LimitNow } from './limit-now';
import { MonthTotals } from './month-totals';
import { Quotas } from './quotas';
import { UsageByDay } from './usage-by-day';
import './usage.css';

export default function UsagePage() {
  const loaded = useAsync(async (signal) => {
    const { account } = api();
    const [own, { quotas }, byDay] = await Promise.all([
      account.get({ signal }),
      account.quotas({ signal }),
      account.usage({ days: 30, by: 'day' }, { signal }),
    ]);
    return { own, quotas, days: byDay.items };
  }, []);
  return (
    <div class="stack">
      <PageHeader title={t('Usage')} hint={loaded.value && planOf(loaded.value.own)} />
      {Boolean(loaded.error) && <Failed error={loaded.error} onRetry={loaded.reload} />}
      {!loaded.value && loaded.loading && <Loading label={t('Loading usage…')} />}
      {loaded.value && (
        <>
          <UsageByDay days={loaded.value.days} />
          <div class="usage-pair">
            <MonthTotals usage={loaded.value.own.usage} />
            <LimitNow />
          </div>
          <Quotas quotas={loaded.value.quotas} />
          <Breakdown />
        </>
      )}
    </div>
  );
}

function planOf({ name, plan }: Account): string {
  return t('{name} · Plan {plan} · Days and months in UTC', { name, plan });
}
