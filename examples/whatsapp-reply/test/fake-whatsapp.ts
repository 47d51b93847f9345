import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface SentMessage {
  messaging_product: string;
  to: string;
  context: { message_id: string };
  type: string;
  text: { body: string };
}

/** WhatsApp's Cloud API, as far as a bot uses it: media, messages, and signed notifications. */
export class FakeWhatsApp {
  readonly media = new Map<string, Buffer>();
  readonly sent: SentMessage[] = [];
  /** The next so many messages are answered with 500. */
  failures = 0;

  private constructor(
    private readonly server: Server,
    private readonly token: string,
    private readonly appSecret: string,
  ) {
    server.on('request', (request, response) => void this.answer(request, response));
  }

  static async start(token: string, appSecret: string): Promise<FakeWhatsApp> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FakeWhatsApp(server, token, appSecret);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Tells the bot of a message. @returns the status of its answer */
  async notify(bot: string, message: object, secret = this.appSecret): Promise<number> {
    const metadata = { display_phone_number: '15550001111', phone_number_id: '1001' };
    const value = { messaging_product: 'whatsapp', metadata, messages: [message] };
    const entry = [{ id: '1', changes: [{ field: 'messages', value }] }];
    const body = JSON.stringify({ object: 'whatsapp_business_account', entry });
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const headers = { 'Content-Type': 'application/json', 'X-Hub-Signature-256': signature };
    return (await fetch(`${bot}/whatsapp`, { method: 'POST', headers, body })).status;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, body: object) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${this.token}`) return reply(401, { error: { code: 190 } });
    const [, first = '', second = ''] = (request.url ?? '').split('/');
    if (request.method === 'POST' && second === 'messages') {
      if (this.failures-- > 0) return reply(500, { error: { code: 131000 } });
      this.sent.push((await json(request)) as SentMessage);
      return reply(200, { messaging_product: 'whatsapp', messages: [{ id: 'wamid.reply' }] });
    }
    const audio = this.media.get(first === 'files' ? second : first);
    if (!audio) return reply(404, { error: { code: 100 } });
    if (first === 'files') return void response.writeHead(200, { 'Content-Type': 'audio/ogg' }).end(audio);
    reply(200, { id: first, url: `${this.url}/files/${first}`, mime_type: 'audio/ogg; codecs=opus' });
  }
}
