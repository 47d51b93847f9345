import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { raiseCredentialVersion } from '../../access/accounts.queries.js';
import { recordChanges } from '../../access/audit-trail.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Role } from '../../access/roles.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail, isResourceId } from '../../platform/database/find-or-fail.js';
import { ConflictError, NotFoundError, PermissionError } from '../../platform/errors/errors.js';
import type { PageQuery, PageResult } from '../../platform/http/page.js';
import { SignInMailsService } from './mails/sign-in-mails.service.js';
import { Membership } from './membership.entity.js';
import {
  BOUND_TO_ACCOUNT,
  endLinksMadeBy,
  endSessions,
  lockMembers,
  lockPerson,
  memberChange,
  refuseHigherRoles,
  updateRole,
} from './memberships.queries.js';
import { isOfProvider } from './passkeys/passkeys.queries.js';
import { Person } from './person.entity.js';
import type { Session } from './session.entity.js';
import { type MadeLink, SignInLinksService } from './sign-in-links.service.js';
import { SignInWaysService } from './sign-in-ways.service.js';

const LINK_DAYS = 1;

export interface Member {
  id: string;
  personId: string;
  name: string;
  email: string;
  role: Role;
  createdAt: Date;
  /** Of the newest session that acts for the account. */
  lastSeenAt: Date | null;
}

interface CreatedLink {
  link: MadeLink;
  personId: string;
  /** By mail, and so not shown. */
  isSent: boolean;
}

/** The members of an account (D99). Nobody gives or takes a role that is higher than the own one. */
@Injectable()
export class MembersService {
  constructor(
    @InjectRepository(Membership) private readonly memberships: Repository<Membership>,
    private readonly database: DatabaseService,
    private readonly versions: CredentialVersionsService,
    private readonly links: SignInLinksService,
    private readonly ways: SignInWaysService,
    private readonly mails: SignInMailsService,
  ) {}

  /** Oldest first. */
  async list(accountId: string, { page, limit }: PageQuery): Promise<PageResult<Member>> {
    const items = await selectMembers(this.database, accountId, { offset: page * limit, limit });
    const [count] = await this.database.query<{ total: number }>(
      'SELECT count(*)::int AS total FROM memberships WHERE account_id = $1',
      [accountId],
    );
    return { items, total: count?.total ?? 0 };
  }

  /**
   * From the next request of the member on, in every process.
   * @param editorId the person who asks
   * @throws NotFoundError, PermissionError, ConflictError
   */
  async setRole(accountId: string, id: string, role: Role, editorId: string): Promise<Member> {
    await this.change(accountId, id, async (tx, member) => {
      await refuseHigherRoles(tx, accountId, editorId, role, member.role);
      await refuseLastOwner(tx, member, role);
      await updateRole(tx, member, role);
    });
    const [changed] = await selectMembers(this.database, accountId, { id });
    if (!changed) throw new NotFoundError('member');
    return changed;
  }

  /** Ends the member's sessions in this account. @throws NotFoundError, PermissionError, ConflictError */
  async remove(accountId: string, id: string, editorId: string): Promise<void> {
    await this.change(accountId, id, async (tx, member) => {
      await refuseHigherRoles(tx, accountId, editorId, member.role);
      await removeMember(tx, member);
    });
  }

  /**
   * Ends a membership of the person’s own.
   * @returns the account
   * @throws NotFoundError for a membership of somebody else, PermissionError, ConflictError
   */
  async leave({ personId, accountId, beganWith }: Session, id: string): Promise<string> {
    const own = await findOrFail('membership', id, () => this.memberships.findOneBy({ id, personId }));
    if (beganWith === 'link' && own.accountId !== accountId) throw new PermissionError(null, BOUND_TO_ACCOUNT);
    await this.change(own.accountId, id, removeMember);
    return own.accountId;
  }

  /**
   * With which the member signs in, and sets another password. Ends the one before. It is sent by mail, if there is a server.
   * @throws SignInWayOffError, NotFoundError, PermissionError, ConflictError, RateLimitError
   */
  async createLink(accountId: string, id: string, editorId: string): Promise<CreatedLink> {
    this.ways.require('link');
    return await this.database.transact(async (tx) => {
      const member = await lockMember(tx, accountId, id);
      const { personId, role } = member;
      await refuseHigherRoles(tx, accountId, editorId, role);
      await refuseMemberOfOthers(tx, personId);
      if (await isOfProvider(tx, personId))
        throw new ConflictError('This person signs in with an OpenID provider, and needs no link.');
      await tx.query('DELETE FROM sign_in_links WHERE person_id = $1', [personId]);
      const link = await this.links.create(tx, { accountId, personId, days: LINK_DAYS, createdByPerson: editorId });
      if (this.mails.isOn) {
        const { email } = await tx.manager.findOneByOrFail(Person, { id: personId });
        await this.mails.add(tx, link, email);
      }
      const after = { expires_at: link.expiresAt };
      await recordChanges(tx, { ...memberChange(member, 'sign_in_link.created'), after });
      return { link, personId, isSent: this.mails.isOn };
    });
  }

  private async change(
    accountId: string,
    id: string,
    work: (tx: Tx, member: Membership) => Promise<void>,
  ): Promise<void> {
    await this.versions.change(accountId, async (tx) => {
      await work(tx, await lockMember(tx, accountId, id));
    });
  }
}

/** One change of the account after the other: two owners must not take each other's role at once. */
async function lockMember(tx: Tx, accountId: string, id: string): Promise<Membership> {
  await lockMembers(tx, accountId);
  const member = isResourceId(id) ? await tx.manager.findOneBy(Membership, { id, accountId }) : null;
  if (!member) throw new NotFoundError('member');
  await lockPerson(tx, member.personId);
  return member;
}

async function removeMember(tx: Tx, member: Membership): Promise<void> {
  const { id, accountId, personId } = member;
  await refuseLastOwner(tx, member, null);
  await endLinksMadeBy(tx, accountId, personId);
  await tx.query('DELETE FROM sign_in_links WHERE account_id = $1 AND person_id = $2', [accountId, personId]);
  await endSessions(tx, 'account_id = $1 AND person_id = $2', [accountId, personId]);
  await tx.manager.delete(Membership, { id });
  await raiseCredentialVersion(tx, accountId);
  await recordChanges(tx, { ...memberChange(member, 'member.removed'), before: { role: member.role } });
}

/** Anyone who has the link acts as the person, and sets the password with which all accounts of the person are opened. */
async function refuseMemberOfOthers(tx: Tx, personId: string): Promise<void> {
  if ((await tx.manager.countBy(Membership, { personId })) === 1) return;
  throw new ConflictError(
    'This person belongs to other accounts as well. The operator of the service can make a link.',
  );
}

/** @param role the next one; null for none */
async function refuseLastOwner(tx: Tx, member: Membership, role: Role | null): Promise<void> {
  if (member.role !== 'owner' || role === 'owner') return;
  if ((await tx.manager.countBy(Membership, { accountId: member.accountId, role: 'owner' })) > 1) return;
  throw new ConflictError('This is the last owner of the account. Make somebody else an owner first.');
}

/** SQL, because of the joins. */
async function selectMembers(
  database: DatabaseService,
  accountId: string,
  { id = null, offset = 0, limit = 1 }: { id?: string | null; offset?: number; limit?: number },
): Promise<Member[]> {
  return await database.query(
    `SELECT m.id, m.person_id AS "personId", p.name, p.email, m.role, m.created_at AS "createdAt",
       (SELECT max(s.last_seen_at) FROM sessions s WHERE s.person_id = p.id AND s.account_id = m.account_id) AS "lastSeenAt"
     FROM memberships m JOIN people p ON p.id = m.person_id
     WHERE m.account_id = $1 AND ($2::uuid IS NULL OR m.id = $2)
     ORDER BY m.created_at, m.id OFFSET $3 LIMIT $4`,
    [accountId, id, offset, limit],
  );
}
