import { randomBytes } from 'node:crypto';
import { ApiError, verifyWebhook, type VoiceNotes } from '../../index.js';
import { CliError, usageError } from '../cli-error.js';
import type { Context } from '../context.js';
import { beforeEnd } from '../ending.js';
import { type Delivery, Receiver } from './receiver.js';
import { EventPrinter } from './event-printer.js';
import { ListenerRecords } from './listener-records.js';
import { DEFAULT_WEBHOOK_EVENTS, type WebhookEvent } from '../../events/event-types.js';

interface ListenOptions {
  port?: number;
  host: string;
  publicUrl?: string;
  events?: WebhookEvent[];
  forward?: string;
  count?: number;
  test: boolean;
}

/** Opens a local receiver, registers it as a webhook, prints what arrives, and removes the webhook at the end. */
export async function listen(context: Context, options: ListenOptions): Promise<void> {
  const { output } = context;
  const [client, connection] = [await context.client(), await context.connection()];
  const records = new ListenerRecords(client, connection);
  const leftovers = await records.removeLeftovers();
  if (leftovers > 0) output.note(`Removed ${leftovers} webhook(s) that a killed run had left.`);

  const path = `/${randomBytes(12).toString('hex')}`;
  const printer = new EventPrinter(output, options);
  const secret = deferred<string>();
  const receiver = await Receiver.listen({ host: options.host, port: options.port ?? 0, path }, async (delivery) =>
    printer.receive(delivery, await refusalOf(delivery, await secret.promise)),
  );
  const url = urlOf(options, receiver.port, path);
  const removeRecord = await records.add(url, `http://${urlHost(options.host)}:${receiver.port}${path}`);
  const registering = register(client, url, options);
  const remove = async (): Promise<void> => {
    // What is being created is not there to be removed yet.
    await registering.catch(() => null);
    try {
      await records.removeWebhooks(url);
      await removeRecord();
      output.note('The webhook is removed.');
    } catch (error) {
      output.warn(
        `The webhook is not removed (${(error as Error).message}). The next \`vnotes webhooks listen\` does it.`,
      );
    }
    receiver.close();
  };
  const forget = beforeEnd(remove);
  try {
    const webhook = await registering;
    secret.resolve(webhook.secret);
    output.note(`Listening on ${options.host}:${receiver.port} as webhook ${webhook.id}. Ctrl-C ends and removes it.`);
    if (options.test) await sendTest(client, webhook.id);
    await printer.done;
  } finally {
    forget();
    await remove();
  }
}

async function register(client: VoiceNotes, url: string, { events, publicUrl }: ListenOptions) {
  try {
    return await client.webhooks.create({ url, events: events ?? [...DEFAULT_WEBHOOK_EVENTS] });
  } catch (error) {
    if (!(error instanceof ApiError) || error.type !== 'ValidationError' || publicUrl !== undefined) throw error;
    throw new CliError(
      `The service does not send to ${new URL(url).host}. If it runs on this machine, its operator can allow that: ` +
        'WEBHOOK_ALLOWED_CIDRS=127.0.0.0/8,::1/128. Otherwise open a tunnel and give its URL: --public-url https://… --port PORT',
      undefined,
      { cause: error },
    );
  }
}

/** Tells at once that the service cannot reach this machine, rather than when nothing arrives. */
async function sendTest(client: VoiceNotes, id: string): Promise<void> {
  const { attempt } = await client.webhooks.test(id);
  if (attempt.status !== null && attempt.status < 300) return;
  const why = attempt.reason ?? attempt.error ?? `status ${attempt.status}`;
  throw new CliError(
    `The service cannot deliver to this machine (${why}). If it runs elsewhere, open a tunnel and give its URL: --public-url`,
  );
}

/** Null when the signature is valid. @returns what is wrong with it */
async function refusalOf({ headers, body }: Delivery, secret: string): Promise<string | null> {
  try {
    await verifyWebhook(body, headers, secret);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function urlOf({ publicUrl, host, port: wanted }: ListenOptions, port: number, path: string): string {
  if (publicUrl === undefined) {
    // All addresses of this machine, seen from itself.
    const near = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    return `http://${urlHost(near)}:${port}${path}`;
  }
  if (!/^https?:\/\/\S+$/.test(publicUrl)) throw usageError('--public-url must be an http or https URL.');
  if (wanted === undefined) throw usageError('With --public-url say where the tunnel leads: --port');
  return publicUrl.replace(/(?<!\/)\/+$/, '') + path;
}

/** Promise.withResolvers came with Node 22. */
function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
