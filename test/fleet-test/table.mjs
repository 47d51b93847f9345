/** From then on an answer counts as a fault that clients notice. */
const SLOW_MS = 2000;

/**
 * @typedef {import('../chaos/clients.mjs').Attempt} Attempt
 * @typedef {{ name: string, from: number, until: number, lastedMs: number }} Phase lastedMs: the fault itself
 * @typedef {{ at: number, answeredAt: number | null, toldAt: number | null }} Upload toldAt: its event was acknowledged
 */

/**
 * What clients saw in each phase, as a table in Markdown.
 * @param {{ phases: Phase[], attempts: Attempt[], uploads: Upload[] }} seen
 */
export function tableOf({ phases, attempts, uploads }) {
  const rows = phases.map((phase) => rowOf(phase, attempts, uploads));
  const head = [
    'fault (seconds)',
    'requests',
    'failed, by status',
    'longest wait',
    'recovered after',
    'uploads, longest with repeats',
    'longest from upload to event',
  ];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function rowOf({ name, from, until, lastedMs }, attempts, uploads) {
  const isIn = ({ at }) => at >= from && at < until;
  const own = attempts.filter(isIn);
  const failed = own.filter((attempt) => !isServed(attempt));
  const noticed = own.filter((attempt) => !isServed(attempt) || attempt.ms > SLOW_MS);
  const sent = uploads.filter(isIn);
  const waits = sent.map(({ at, answeredAt }) => (answeredAt ?? Infinity) - at);
  const told = sent.map(({ answeredAt, toldAt }) => (toldAt ?? Infinity) - (answeredAt ?? 0));
  return [
    `${name} (${(lastedMs / 1000).toFixed(0)})`,
    `${own.length}`,
    failed.length === 0 ? '0' : `${failed.length}: ${byStatus(failed)}`,
    seconds(own.map(({ ms }) => ms)),
    noticed.length === 0 ? '–' : seconds(noticed.map(({ at, ms }) => at + ms - from)),
    `${sent.length}, ${seconds(waits)}`,
    seconds(told),
  ];
}

const isServed = ({ status }) => status !== null && status < 400;

function byStatus(failed) {
  const counts = new Map();
  for (const { status } of failed) counts.set(status ?? 'none', (counts.get(status ?? 'none') ?? 0) + 1);
  return [...counts]
    .toSorted(([a], [b]) => `${a}`.localeCompare(`${b}`))
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');
}

function seconds(values) {
  if (values.length === 0) return '–';
  const longest = Math.max(...values);
  return Number.isFinite(longest) ? `${(longest / 1000).toFixed(1)} s` : 'never';
}
