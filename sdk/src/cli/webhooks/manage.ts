import { DEFAULT_WEBHOOK_EVENTS, type WebhookEvent } from '../../events/event-types.js';
import type { Context } from '../context.js';
import { usageError } from '../cli-error.js';
import { deleteEach } from '../commands/delete.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { count, time } from '../terminal/format.js';
import { oneLine } from '../terminal/text-width.js';
import { lineOfStdin } from '../terminal/prompt.js';
import { statusColour } from '../terminal/status-colour.js';

export async function listWebhooks(context: Context, { status }: { status?: 'active' | 'disabled' }): Promise<void> {
  const { output } = context;
  const client = await context.client();
  const webhooks = [];
  for await (const webhook of client.webhooks.list({ status, limit: 100 })) webhooks.push(webhook);
  output.document({ webhooks, total: webhooks.length });
  if (webhooks.length === 0) return output.note('There are no webhooks. Make one: vnotes webhooks create URL');
  output.table(webhooks, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: (webhook) => webhook.status, colour: (webhook) => statusColour(webhook.status) },
    { title: 'CREATED', value: ({ created_at }) => time(created_at, output.forPeople), optional: 1 },
    { title: 'URL', value: ({ url }) => url, flexible: true },
    { title: 'EVENTS', value: ({ events }) => events.join(','), optional: 2 },
  ]);
}

interface CreateOptions {
  events?: WebhookEvent[];
  secretStdin?: boolean;
}

export async function createWebhook(context: Context, options: CreateOptions, url: string): Promise<void> {
  const { output } = context;
  const client = await context.client();
  const secret = options.secretStdin ? await lineOfStdin() : undefined;
  if (secret === '') throw usageError('Standard input has no secret.');
  const webhook = await client.webhooks.create({ url, events: options.events ?? [...DEFAULT_WEBHOOK_EVENTS], secret });
  output.document(webhook);
  output.print(`ID      ${webhook.id}`);
  output.print(`Secret  ${webhook.secret}`);
  output.note(`Store the secret now: it is shown only once. To try it: vnotes webhooks test ${webhook.id}`);
}

export async function deleteWebhooks(context: Context, { yes }: { yes?: boolean }, ids: string[]): Promise<ExitCode> {
  const client = await context.client();
  const question = yes ? null : `Delete ${count(ids.length, 'webhook')}? Deliveries that wait are dropped.`;
  return await deleteEach(context, ids, question, (id) => client.webhooks.delete(id));
}

export async function testWebhook(context: Context, _options: object, id: string): Promise<ExitCode> {
  const { output } = context;
  const client = await context.client();
  const outcome = await client.webhooks.test(id);
  const { status, error, reason, duration_ms: ms, response } = outcome.attempt;
  const arrived = status !== null && status >= 200 && status < 300;
  output.document(outcome);
  if (arrived) output.print(`${output.paint('green', 'Arrived')}: status ${status} after ${ms} ms.`);
  else output.error(status === null ? `No answer (${error}): ${oneLine(reason ?? '')}` : `The answer was ${status}.`);
  if (!arrived && response) output.note(oneLine(response));
  return arrived ? EXIT.ok : EXIT.failure;
}
