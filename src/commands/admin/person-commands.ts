import type { INestApplicationContext } from '@nestjs/common';
import type { Role } from '../../access/roles.js';
import { AccountService } from '../../modules/account/account.service.js';
import { PeopleService } from '../../modules/people/people.service.js';
import { creationTime } from '../../platform/http/timestamps.js';
import { recordByOperator } from './admin-context.js';

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
