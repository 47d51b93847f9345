import type { VoiceNotes } from '../../index.js';
import { usageError } from '../cli-error.js';
import type { Context } from '../context.js';
import { count, time } from '../terminal/format.js';
import { oneLine, printable } from '../terminal/text-width.js';
import { showPages } from '../terminal/show-pages.js';
import { statusColour } from '../terminal/status-colour.js';

interface DeliveriesOptions {
  status?: 'pending' | 'delivered' | 'failed';
  from?: string;
  to?: string;
  limit: number;
  page?: number;
  all?: boolean;
}

type Attempt = Awaited<ReturnType<VoiceNotes['webhooks']['delivery']>>['attempts'][number];

export async function showDeliveries(
  context: Context,
  options: DeliveriesOptions,
  webhook: string,
  delivery?: string,
): Promise<void> {
  if (delivery !== undefined) return await showDelivery(context, webhook, delivery);
  const { output } = context;
  const client = await context.client();
  const { status, from, to, limit, page, all = false } = options;
  const query = { status, date_from: from, date_to: to, limit: all ? 100 : limit, page };
  await showPages(output, client.webhooks.deliveries(webhook, query), {
    all,
    items: ({ deliveries }) => deliveries,
    print: (deliveries) =>
      output.table(deliveries, [
        { title: 'ID', value: ({ id }) => id },
        { title: 'TIME', value: ({ created_at }) => time(created_at, output.forPeople), optional: 2 },
        { title: 'STATUS', value: (row) => row.status, colour: (row) => statusColour(row.status) },
        { title: 'TRIES', value: ({ attempts_count }) => String(attempts_count), optional: 1 },
        { title: 'ANSWER', value: (row) => String(row.last_status ?? row.last_error ?? '-'), optional: 3 },
        { title: 'EVENT', value: ({ event }) => event, flexible: true },
      ]),
    none: 'No deliveries match.',
    summary: (total) => count(total, 'delivery', 'deliveries'),
  });
}

async function showDelivery(context: Context, webhook: string, id: string): Promise<void> {
  const { output } = context;
  const client = await context.client();
  const delivery = await client.webhooks.delivery(webhook, id);
  output.document(delivery);
  const colour = statusColour(delivery.status);
  output.print(`Status    ${colour ? output.paint(colour, delivery.status) : delivery.status}`);
  output.print(`Event     ${delivery.event}  ${delivery.event_id}`);
  if (delivery.next_attempt_at) output.print(`Next      ${time(delivery.next_attempt_at, output.forPeople)}`);
  for (const attempt of delivery.attempts) output.print(attemptLine(attempt, output.forPeople));
  output.print(`Body      ${printable(delivery.body)}`);
}

function attemptLine(attempt: Attempt, forPeople: boolean): string {
  const { number, started_at, status, error, reason, duration_ms: ms, response } = attempt;
  const result = status === null ? `${error}: ${reason ?? ''}` : String(status);
  const said = response && (status === null || status >= 300) ? `\n          ${oneLine(response)}` : '';
  return `Attempt ${number} ${time(started_at, forPeople)}  ${oneLine(result)}  ${ms} ms${said}`;
}

interface RedeliverOptions {
  status?: 'delivered' | 'failed' | 'missed';
  from?: string;
  to?: string;
}

export async function redeliver(context: Context, options: RedeliverOptions, webhook: string, delivery?: string) {
  const { output } = context;
  const { status, from, to } = options;
  if (delivery !== undefined && (status || from || to)) throw usageError('--status, --from and --to are for many.');
  const client = await context.client();
  if (delivery !== undefined) {
    const answer = await client.webhooks.redeliver(webhook, delivery);
    output.document(answer);
    return output.print(`${delivery}  is sent again`);
  }
  const answer = await client.webhooks.redeliverMany(webhook, { status, date_from: from, date_to: to });
  output.document(answer);
  output.print(`${count(answer.count, 'delivery is', 'deliveries are')} sent again.`);
  if (answer.count > 0) output.note(`See: vnotes webhooks deliveries ${webhook}`);
}
