import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Role } from '../../../access/roles.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../../platform/database/database.service.js';
import { NotFoundError, RateLimitError } from '../../../platform/errors/errors.js';
import { MailerService } from '../../../platform/mail/mailer.service.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { TokenBucketStorage } from '../../../platform/rate-limit/token-bucket.storage.js';
import { SecretsService } from '../../../platform/secrets.service.js';
import type { MadeLink } from '../sign-in-links.service.js';
import { SignInWaysService } from '../sign-in-ways.service.js';

/** Mails to one address that members have sent, and that somebody has asked for: at once, and again in an hour. */
const HOUR_MS = 3_600_000;
const MAILS_OF_MEMBERS = 10;
const REQUESTED_MAILS = 3;
/** An attempt is over by then, or its process has died. */
const LEASE_SECONDS = 120;

/** The row of a mail; Postgres has the rest. */
export type MailJob = { mailId: string };

/** What is to be done now. */
export interface ClaimedMail {
  id: string;
  linkId: string | null;
  encryptedToken: string | null;
  email: string | null;
  attempt: number;
}

/** What a mail says. */
export interface MailContent {
  token: string;
  to: string;
  /** Null without a person: of an invitation. */
  personId: string | null;
  accountName: string;
  role: Role | null;
  /** Who has made the link: null for the operator. */
  madeBy: string | null;
  makerName: string | null;
  expiresAt: Date;
}

/** The mails that are to be sent, each once in the end (D104). Processes with the role `api` send them. */
@Injectable()
export class SignInMailsService {
  private queue: JobQueue<MailJob> | null = null;

  constructor(
    private readonly database: DatabaseService,
    private readonly mailer: MailerService,
    private readonly secrets: SecretsService,
    private readonly buckets: TokenBucketStorage,
    private readonly ways: SignInWaysService,
  ) {}

  /** Whether links are sent, and not shown. */
  get isOn(): boolean {
    return this.mailer.isOn;
  }

  /** Whether people can have a link sent to themselves. */
  get takesRequests(): boolean {
    return this.isOn && this.ways.has('link');
  }

  /** Which wakes those who send. */
  useQueue(queue: JobQueue<MailJob>): void {
    this.queue = queue;
  }

  /** To be sent once the transaction has committed. @throws RateLimitError when this address got many */
  async add(tx: Tx, { id: linkId, token }: MadeLink, email: string): Promise<void> {
    const { isBlocked, timeToBlockExpire } = await this.count('mails', email, MAILS_OF_MEMBERS);
    if (isBlocked) throw new RateLimitError(timeToBlockExpire, 'This address got many mails. Try again later.');
    await this.insert(tx, { linkId, encryptedToken: this.secrets.encrypt(token, linkId), email: null });
  }

  /** Of a link that somebody has asked for: these were counted before anybody looked whose address it is. */
  async addRequested(tx: Tx, { id: linkId, token }: MadeLink): Promise<void> {
    await this.insert(tx, { linkId, encryptedToken: this.secrets.encrypt(token, linkId), email: null });
  }

  /**
   * Has a link sent to whom the address belongs. It does the same for an address that nobody has; one that was asked for often
   * gets no more mail, of which nobody is told.
   * @throws SignInWayOffError, NotFoundError without a server for mail
   */
  async request(email: string): Promise<void> {
    this.ways.require('link');
    if (!this.isOn)
      throw new NotFoundError('mail', 'This service sends no mail. Ask an administrator of your account for a link.');
    const { isBlocked } = await this.count('requested-mails', email, REQUESTED_MAILS);
    if (isBlocked) return;
    await this.database.transact((tx) => this.insert(tx, { linkId: null, encryptedToken: null, email }));
  }

  /** No other process has it for a while. SQL, because of the clock of the database. @returns null when none is due */
  async claim(): Promise<ClaimedMail | null> {
    const [claimed] = await this.database.query<ClaimedMail>(
      `UPDATE sign_in_mails m SET due_at = now() + interval '${LEASE_SECONDS} seconds', attempt = attempt + 1
       FROM (SELECT id FROM sign_in_mails WHERE due_at <= now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED) due
       WHERE m.id = due.id
       RETURNING m.id, m.link_id AS "linkId", m.encrypted_token AS "encryptedToken", m.email, m.attempt`,
    );
    return claimed ?? null;
  }

  /** Null for a link that has expired, or was encrypted under another SECRET_KEY. */
  async contentOf({ linkId, encryptedToken }: ClaimedMail): Promise<MailContent | null> {
    // SQL, because accounts belong to another module.
    const [found] = await this.database.query<Omit<MailContent, 'token'>>(
      `SELECT coalesce(p.email, l.email) AS "to", l.person_id AS "personId", a.name AS "accountName", l.role,
         l.created_by_person AS "madeBy", maker.name AS "makerName", l.expires_at AS "expiresAt"
       FROM sign_in_links l JOIN accounts a ON a.id = l.account_id
         LEFT JOIN people p ON p.id = l.person_id LEFT JOIN people maker ON maker.id = l.created_by_person
       WHERE l.id = $1 AND l.expires_at > now()`,
      [linkId],
    );
    const token = this.read(linkId, encryptedToken);
    return found && token !== null ? { ...found, token } : null;
  }

  /** It was sent, or never will be. */
  async remove(runner: SqlRunner, id: string): Promise<boolean> {
    return (await runner.query('DELETE FROM sign_in_mails WHERE id = $1 RETURNING id', [id])).length > 0;
  }

  async postpone(id: string, seconds: number): Promise<void> {
    await this.database.query('UPDATE sign_in_mails SET due_at = now() + make_interval(secs => $2) WHERE id = $1', [
      id,
      seconds,
    ]);
  }

  private async insert(
    tx: Tx,
    { linkId, encryptedToken, email }: Pick<ClaimedMail, 'linkId' | 'encryptedToken' | 'email'>,
  ): Promise<void> {
    const id = uuidv7();
    await tx.query(
      `INSERT INTO sign_in_mails (id, link_id, encrypted_token, email, due_at, created_at)
       VALUES ($1, $2, $3, $4, now(), now())`,
      [id, linkId, encryptedToken, email],
    );
    tx.afterCommit(() => void this.queue?.enqueue({ mailId: id }, { deduplicationKey: 0 }));
  }

  private count(kind: string, email: string, limit: number) {
    const address = hash('sha256', email.toLowerCase(), 'base64url');
    return this.buckets.increment(`${kind}:${address}`, HOUR_MS, limit);
  }

  private read(linkId: string | null, encryptedToken: string | null): string | null {
    try {
      return this.secrets.decrypt(encryptedToken ?? '', linkId ?? '');
    } catch {
      return null;
    }
  }
}
