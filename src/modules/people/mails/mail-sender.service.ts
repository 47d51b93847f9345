import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { recordChanges } from '../../../access/audit-trail.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { MailError, MailerService } from '../../../platform/mail/mailer.service.js';
import { Membership } from '../membership.entity.js';
import { lockMembers, lockPerson, memberChange } from '../memberships.queries.js';
import { SignInLinksService } from '../sign-in-links.service.js';
import { mailTextOf } from './mail-texts.js';
import { type ClaimedMail, SignInMailsService } from './sign-in-mails.service.js';

/** Mails that a process sends at the same time. */
const MAX_AT_ONCE = 4;
/** Between attempts; the last one is repeated until the link has expired. */
const RETRY_SECONDS = [5, 30, 120, 600, 1800, 3600];
/** Of a link that somebody has asked for. */
const REQUESTED_DAYS = 1 / 24;
/** With one address. */
const MAX_PEOPLE = 5;

/** Sends the mails that are due. SignInMailsProcessor wakes it. */
@Injectable()
export class MailSenderService implements OnModuleDestroy {
  private readonly logger = new Logger(MailSenderService.name);
  private readonly loops = new Set<Promise<void>>();
  private readonly outcomes: Counter<'outcome'>;
  private isStopping = false;

  constructor(
    private readonly database: DatabaseService,
    private readonly mails: SignInMailsService,
    private readonly links: SignInLinksService,
    private readonly mailer: MailerService,
    registry: Registry,
  ) {
    this.outcomes = new Counter({
      name: 'mails_total',
      help: 'Attempts to send a mail, by outcome: sent, postponed or refused (D104).',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  wake(): void {
    if (this.isStopping || this.loops.size >= MAX_AT_ONCE) return;
    const loop = this.run()
      .catch((error: unknown) => this.logger.warn({ err: error }, 'mails could not be claimed'))
      .finally(() => this.loops.delete(loop));
    this.loops.add(loop);
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await Promise.all(this.loops);
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      const mail = await this.mails.claim();
      if (!mail) return;
      // There may be more, for a loop beside this one.
      this.wake();
      if (mail.email === null) await this.send(mail);
      else await this.answer(mail.id, mail.email);
    }
  }

  private async send(mail: ClaimedMail): Promise<void> {
    const content = await this.mails.contentOf(mail);
    if (!content) return void (await this.mails.remove(this.database, mail.id));
    const { personId, token, to } = content;
    const url = this.mailer.pageUrl(`${personId === null ? 'invitation' : 'link'}=${token}`);
    try {
      await this.mailer.send({ id: mail.id, to, ...mailTextOf(content, url) });
      await this.mails.remove(this.database, mail.id);
      this.outcomes.inc({ outcome: 'sent' });
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      await this.end(mail, error);
    }
  }

  private async end({ id, attempt }: ClaimedMail, { message: reason, isPermanent }: MailError): Promise<void> {
    if (isPermanent) await this.mails.remove(this.database, id);
    else await this.mails.postpone(id, RETRY_SECONDS[Math.min(attempt, RETRY_SECONDS.length) - 1] ?? 0);
    this.outcomes.inc({ outcome: isPermanent ? 'refused' : 'postponed' });
    this.logger.warn({ mail_id: id, attempt, reason }, isPermanent ? 'mail refused' : 'mail not sent; retrying');
  }

  /** Makes the links that somebody has asked for: of people whose link is no concern of another account or provider. */
  private async answer(requestId: string, email: string): Promise<void> {
    const found = await this.database.query<Pick<Membership, 'personId' | 'accountId'>>(
      `SELECT m.person_id AS "personId", m.account_id AS "accountId" FROM people p JOIN memberships m ON m.person_id = p.id
       WHERE lower(p.email) = lower($1) AND NOT EXISTS (SELECT FROM identities i WHERE i.person_id = p.id)
         AND NOT EXISTS (SELECT FROM memberships o WHERE o.person_id = p.id AND o.id <> m.id)
       ORDER BY p.created_at, p.id LIMIT ${MAX_PEOPLE}`,
      [email],
    );
    await this.database.transact(async (tx) => {
      if (!(await this.mails.remove(tx, requestId))) return;
      for (const member of found) await this.addLink(tx, member);
    });
  }

  private async addLink(tx: Tx, { personId, accountId }: Pick<Membership, 'personId' | 'accountId'>): Promise<void> {
    await lockMembers(tx, accountId);
    const memberships = await tx.manager.findBy(Membership, { personId });
    if (memberships.length !== 1 || memberships[0]?.accountId !== accountId) return;
    await lockPerson(tx, personId);
    const link = await this.links.create(tx, { accountId, personId, days: REQUESTED_DAYS, createdByPerson: personId });
    const after = { expires_at: link.expiresAt };
    await recordChanges(tx, { ...memberChange({ accountId, personId }, 'sign_in_link.requested'), after });
    await this.mails.addRequested(tx, link);
  }
}
