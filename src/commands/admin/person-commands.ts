import type { INestApplicationContext } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Role } from '../../access/roles.js';
import { AccountService } from '../../modules/account/account.service.js';
import { testMailText } from '../../modules/people/mails/mail-texts.js';
import { PeopleService } from '../../modules/people/people.service.js';
import { creationTime } from '../../platform/http/timestamps.js';
import { MailerService } from '../../platform/mail/mailer.service.js';
import { recordByOperator } from './admin-context.js';

/** Sends one mail, at once. @throws Error that says what the server refuses */
export async function testMail(app: INestApplicationContext, { to }: { to: string }): Promise<object> {
  const mailer = app.get(MailerService);
  if (!mailer.isOn) throw new Error('Set SMTP_URL, SMTP_FROM and PUBLIC_URL first.');
  try {
    await mailer.send({ id: uuidv7(), to, ...testMailText(mailer.pageUrl('/')) });
  } catch (error) {
    throw new Error(`The mail was not taken: ${(error as Error).message}`, { cause: error });
  }
  return { sent_to: to };
}

interface LinkOptions {
  account: string;
  email: string;
  role?: Role;
  name?: string;
}

/** The only answer that ever holds the link. */
export async function createLink(app: INestApplicationContext, options: LinkOptions): Promise<object> {
  const { email, role = 'owner', name = email } = options;
  const account = await app.get(AccountService).get(options.account);
  const { personId, link } = await app.get(PeopleService).createLink(account.id, { email, role, name });
  recordByOperator(app, 'sign-in link created', { account_id: account.id, person_id: personId, role });
  return {
    account_id: account.id,
    person_id: personId,
    role,
    link: link.token,
    expires_at: creationTime(link.expiresAt),
  };
}
