import { Injectable } from '@nestjs/common';
import type { SendMailOptions, Transporter } from 'nodemailer';
import { Env } from '../config/env.js';

const TIMEOUT_MS = 10_000;
/** Of all that belongs to one mail. */
const SENDING_MS = 60_000;

export interface Mail {
  /** The same for each attempt, so that a mailbox knows a second copy. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** A mail was not taken. Its message names neither addresses nor what the server said. */
export class MailError extends Error {
  override readonly name = 'MailError';

  /** @param isPermanent the server will never take this mail for this address */
  constructor(
    message: string,
    readonly isPermanent: boolean,
  ) {
    super(message);
  }
}

/** Sends mail through the server of SMTP_URL (D104). */
@Injectable()
export class MailerService {
  private transport: Promise<Transporter> | null = null;

  constructor(private readonly env: Env) {}

  /** Whether there is a server. */
  get isOn(): boolean {
    return this.env.smtpUrl !== null;
  }

  /** A page of this service, as people reach it. @param hash with which its address ends */
  pageUrl(hash: string): string {
    const url = new URL(this.env.publicUrl ?? '');
    if (!url.pathname.endsWith('/')) url.pathname += '/';
    url.hash = hash;
    return url.href;
  }

  /** @throws MailError */
  async send({ id, to, ...content }: Mail): Promise<void> {
    const { hostname } = new URL(this.env.publicUrl ?? '');
    const mail: SendMailOptions = {
      ...content,
      from: this.env.smtpFrom ?? '',
      // An object, so that it is one address whatever it has in it.
      to: { name: '', address: to },
      messageId: `<${id}@${hostname}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    };
    const transport = await this.open();
    try {
      await withinTime(transport.sendMail(mail));
    } catch (error) {
      throw mailErrorOf(error);
    }
  }

  private open(): Promise<Transporter> {
    this.transport ??= openTransport(this.env.smtpUrl ?? '');
    return this.transport;
  }
}

/** Loaded only where there is a server. */
async function openTransport(smtpUrl: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  const { protocol, hostname, port, username, password, search } = new URL(smtpUrl);
  const isPlain = search === '?tls=none';
  const secure = protocol === 'smtps:';
  return createTransport({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // A server, or somebody in between, that offers no STARTTLS gets nothing.
    requireTLS: !secure && !isPlain,
    ignoreTLS: isPlain,
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    dnsTimeout: TIMEOUT_MS,
    socketTimeout: 2 * TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

async function withinTime(sending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new MailError('the server is too slow', false)), SENDING_MS);
  });
  await Promise.race([sending, late]).finally(() => clearTimeout(timer));
}

interface SmtpError {
  code?: string;
  command?: string;
  responseCode?: number;
}

/** What the server says to the address or the mail is final; all else may be different later, also a refused password. */
function mailErrorOf(error: unknown): MailError {
  if (error instanceof MailError) return error;
  const { code = 'error', command = '', responseCode } = error as SmtpError;
  const isFinal = responseCode !== undefined && responseCode >= 500 && (command === 'RCPT TO' || code === 'EMESSAGE');
  return new MailError([code, command, responseCode].filter(Boolean).join(' '), isFinal);
}
