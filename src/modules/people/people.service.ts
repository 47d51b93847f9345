import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { recordChanges } from '../../access/audit-trail.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Role } from '../../access/roles.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { Membership } from './membership.entity.js';
import { insertMembership, lockMembers, memberChange, updateRole } from './memberships.queries.js';
import { Person } from './person.entity.js';
import { type MadeLink, SignInLinksService } from './sign-in-links.service.js';

/** Days that a link which signs in a person is valid. */
const LINK_DAYS = 1;

/** Whom an operator lets into an account. */
export interface OperatorsMember {
  name: string;
  email: string;
  role: Role;
}

@Injectable()
export class PeopleService {
  constructor(
    private readonly database: DatabaseService,
    private readonly links: SignInLinksService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /**
   * A link that signs in the member of the account with this e-mail address, whose role becomes the given one. Without such a
   * member a new person is made.
   */
  async createLink(accountId: string, member: OperatorsMember): Promise<{ personId: string; link: MadeLink }> {
    return await this.versions.change(accountId, async (tx) => {
      await lockMembers(tx, accountId);
      const found = await findMember(tx, accountId, member.email);
      if (found) await updateRole(tx, found, member.role);
      const personId = found?.personId ?? (await insertMember(tx, accountId, member));
      const link = await this.links.create(tx, { accountId, personId, days: LINK_DAYS });
      const after = { expires_at: link.expiresAt };
      await recordChanges(tx, { ...memberChange({ accountId, personId }, 'sign_in_link.created'), after });
      return { personId, link };
    });
  }
}

/** The oldest with this e-mail address. */
async function findMember(tx: Tx, accountId: string, email: string): Promise<Membership | null> {
  const [found] = await tx.query<{ id: string }>(
    `SELECT m.id FROM memberships m JOIN people p ON p.id = m.person_id
     WHERE m.account_id = $1 AND lower(p.email) = lower($2) ORDER BY m.created_at, m.id LIMIT 1`,
    [accountId, email],
  );
  return found ? await tx.manager.findOneBy(Membership, { id: found.id }) : null;
}

/** @returns the id of the new person */
async function insertMember(tx: Tx, accountId: string, { name, email, role }: OperatorsMember): Promise<string> {
  const times = { createdAt: new Date(), updatedAt: new Date() };
  const person = { id: uuidv7(), name, email, passwordHash: null, passwordSalt: null, ...times };
  await tx.manager.insert(Person, person);
  await insertMembership(tx, { accountId, personId: person.id, role });
  return person.id;
}
