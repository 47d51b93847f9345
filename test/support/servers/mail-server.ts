import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A mail that the server has taken. */
export interface TakenMail {
  to: string[];
  /** By lower-case names. */
  headers: Map<string, string>;
  /** Of the part as plain text. */
  text: string;
  html: string;
}

/** A real SMTP server, with STARTTLS and a certificate that nobody trusts only where `options` leave it on. */
export class MailServer {
  readonly mails: TakenMail[] = [];
  /** Answers to recipients: a status, or undefined to take the mail. */
  refusal: number | undefined;
  /** Who has signed in to it. */
  readonly users: string[] = [];
  private server: SMTPServer | null = null;
  port = 0;

  private constructor(private readonly options: SMTPServerOptions) {}

  static async listen(options: SMTPServerOptions = { disabledCommands: ['STARTTLS'] }): Promise<MailServer> {
    const server = new MailServer(options);
    await server.start();
    return server;
  }

  /** On the port that it had before. */
  async start(): Promise<void> {
    const server = new SMTPServer({
      authOptional: true,
      allowInsecureAuth: true,
      logger: false,
      closeTimeout: 500,
      socketTimeout: 10_000,
      ...this.options,
      onAuth: ({ username = '', password }, _session, done) => {
        this.users.push(username);
        done(password === 'right' ? null : new Error('no'), { user: username });
      },
      onRcptTo: (_address, _session, done) =>
        done(this.refusal === undefined ? null : Object.assign(new Error('not now'), { responseCode: this.refusal })),
      onData: (stream, { envelope }, done) => {
        const to = envelope.rcptTo.map(({ address }) => address);
        void this.take(text(stream), to, done);
      },
    });
    server.on('error', () => undefined);
    server.listen(this.port, '127.0.0.1');
    await once(server.server, 'listening');
    this.port = (server.server.address() as AddressInfo).port;
    this.server = server;
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    if (server) await new Promise<void>((resolve) => server.close(resolve));
  }

  private async take(raw: Promise<string>, to: string[], done: () => void): Promise<void> {
    this.mails.push(read(await raw, to));
    done();
  }

  to(address: string): TakenMail[] {
    return this.mails.filter((mail) => mail.to.includes(address));
  }
}

function read(raw: string, to: string[]): TakenMail {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const headers = new Map(
    head
      .replaceAll(/\r\n[ \t]+/g, ' ')
      .split('\r\n')
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1] ?? '';
  const parts = rest.join('\r\n\r\n').split(`--${boundary}`);
  const partOf = (type: string): string => {
    const part = parts.find((each) => each.includes(`Content-Type: ${type}`)) ?? '';
    const body = part.slice(part.indexOf('\r\n\r\n') + 4);
    const decoded = part.includes('quoted-printable') ? fromQuotedPrintable(body) : body;
    return decoded.replaceAll('\r\n', '\n');
  };
  return { to, headers, text: partOf('text/plain'), html: partOf('text/html') };
}

function fromQuotedPrintable(body: string): string {
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
