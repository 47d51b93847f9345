import type { Context } from '../context.js';
import { bytes, count, duration, time } from '../terminal/format.js';
import type { Output } from '../terminal/output.js';
import { oneLine } from '../terminal/text-width.js';

interface UsageOptions {
  days: number;
  by?: 'day' | 'key' | 'user';
}

export async function showUsage(context: Context, { days, by = 'day' }: UsageOptions): Promise<void> {
  const { output } = context;
  const client = await context.client();
  const [account, { quotas }, usage] = await Promise.all([
    client.account.get(),
    client.account.quotas(),
    allUsage(client, days, by),
  ]);
  const limit = context.rateLimit;
  output.document({ account, quotas, rate_limit: limit, usage });
  if (output.json) return;

  output.print(`${output.paint('bold', oneLine(account.name))}  ${account.plan}, ${account.status}`);
  const { recordings_count: recordings, total_duration_seconds: seconds } = account.usage.current_month;
  output.print(`This month  ${count(recordings, 'recording')}, ${duration(seconds)}`);
  if (limit) output.print(`Requests    ${limit.remaining} of ${limit.limit} a minute left`);
  output.print('');
  output.table(quotas, [
    { title: 'QUOTA', value: ({ quota }) => QUOTAS[quota]?.name ?? quota },
    { title: 'USED', value: ({ quota, used }) => amount(quota, used) },
    { title: 'LIMIT', value: ({ quota, limit: most }) => (most === null ? 'unlimited' : amount(quota, most)) },
    { title: 'LEFT', value: (quota) => share(quota) },
    { title: 'RESETS', value: ({ resets_at }) => time(resets_at, output.forPeople), optional: 1 },
  ]);
  output.print('');
  printUsage(usage, by, output);
}

const QUOTAS: Record<string, { name: string; amount: (value: number) => string }> = {
  stored_bytes: { name: 'Audio stored', amount: bytes },
  audio_seconds_per_month: { name: 'Audio this month', amount: duration },
  queued_audio_seconds: { name: 'Queued audio', amount: duration },
  concurrent_uploads: { name: 'Concurrent uploads', amount: String },
};

type Client = Awaited<ReturnType<Context['client']>>;
type UsageItem = Awaited<ReturnType<Client['account']['usage']>>['items'][number];

async function allUsage(client: Client, days: number, by: UsageOptions['by']): Promise<UsageItem[]> {
  const items: UsageItem[] = [];
  for (let after: string | undefined; ;) {
    const page = await client.account.usage({ days, by, ...(by === 'day' ? {} : { limit: 100, after }) });
    items.push(...page.items);
    const next = page.next_uri && new URL(page.next_uri, 'http://localhost').searchParams.get('after');
    if (!next) return items;
    after = next;
  }
}

function printUsage(items: UsageItem[], by: 'day' | 'key' | 'user', output: Output): void {
  const used = items.filter(({ recordings_count: recordings }) => recordings > 0);
  if (used.length === 0) return output.note('No recordings in these days.');
  const first = { day: 'DAY', key: 'KEY', user: 'END USER' }[by];
  const subject = ({ day, key_id: key, user_id: user }: UsageItem) => day ?? key ?? user ?? '(none)';
  output.table(used, [
    { title: first, value: subject, flexible: true },
    { title: 'RECORDINGS', value: (item) => String(item.recordings_count) },
    {
      title: 'FAILED',
      value: (item) => String(item.failed_count),
      colour: (item) => (item.failed_count ? 'red' : null),
    },
    { title: 'AUDIO', value: (item) => duration(item.total_duration_seconds) },
    { title: 'STORED', value: (item) => bytes(item.storage_used_bytes), optional: 1 },
  ]);
}

function amount(quota: string, value: number): string {
  return QUOTAS[quota]?.amount(value) ?? String(value);
}

function share({ limit, used }: { limit: number | null; used: number }): string {
  if (limit === null) return '-';
  return limit === 0 ? '0 %' : `${Math.max(0, Math.floor(100 - (used / limit) * 100))} %`;
}
